//! Four numbers at a time.
//!
//! [`F64x4`] has two forms with the same operations in the same order: [`Avx2`] is one AVX register
//! (pulp's operations), [`Scalar`] four numbers for any processor. What is fused is written so
//! ([`F64x4::mul_add`]), so that both agree to the bit (and a processor without fused operations is
//! right, but slow); the tests of this folder hold them against plain safe code.

#![allow(unsafe_code)]

/// Numbers of an [`F64x4`].
pub(crate) const LANES: usize = 4;

/// Four numbers.
pub(crate) trait F64x4: Copy {
    /// All four equal.
    ///
    /// # Safety
    /// The processor has what the form needs. (This and `load` are the only ways to make one; the
    /// other operations rely on it.)
    unsafe fn splat(x: f64) -> Self;
    /// Asks for the cache line of `from`, which need not exist.
    fn prefetch(from: *const f64);
    /// The four numbers from `from` on.
    ///
    /// # Safety
    /// As [`F64x4::splat`], and the numbers are there.
    unsafe fn load(from: *const f64) -> Self;
    /// Writes the four numbers.
    ///
    /// # Safety
    /// There is room for them.
    unsafe fn store(self, to: *mut f64);
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// `self × by + add`, rounded once.
    fn mul_add(self, by: Self, add: Self) -> Self;
    /// `self − a × b`, rounded once.
    fn minus_product(self, a: Self, b: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn sqrt(self) -> Self;
    /// Where it is below `least` that instead; what is not a number stays so.
    fn at_least(self, least: Self) -> Self;
    /// Where `a ≤ b` the lanes of self, else those of `other` (also where one is not a number).
    fn where_le(self, other: Self, a: Self, b: Self) -> Self;
    /// True if `self ≤ other` in every lane.
    fn all_le(self, other: Self) -> bool;
    /// Lane i of number j becomes lane j of number i.
    fn transpose(x: [Self; 4]) -> [Self; 4];
    /// Two numbers from each of four places: the first of each, the second of each.
    ///
    /// # Safety
    /// As [`F64x4::load`].
    unsafe fn load_pairs(from: [*const f64; LANES]) -> [Self; 2];
    /// Adds to what [`F64x4::load_pairs`] read, one place after the other: they may be the same
    /// one.
    ///
    /// # Safety
    /// As [`F64x4::load`].
    unsafe fn add_pairs(x: [Self; 2], to: [*mut f64; LANES]);
}

/// Four numbers on any processor.
#[derive(Clone, Copy)]
pub(crate) struct Scalar([f64; LANES]);

impl Scalar {
    #[inline(always)]
    fn both(self, other: Scalar, f: impl Fn(f64, f64) -> f64) -> Scalar {
        Scalar(std::array::from_fn(|l| f(self.0[l], other.0[l])))
    }
}

impl F64x4 for Scalar {
    #[inline(always)]
    unsafe fn splat(x: f64) -> Scalar {
        Scalar([x; LANES])
    }
    #[inline(always)]
    fn prefetch(_: *const f64) {}
    #[inline(always)]
    unsafe fn load(from: *const f64) -> Scalar {
        // SAFETY: the caller's promise; f64 has no stricter alignment as an array.
        Scalar(unsafe { *from.cast() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller's promise.
        unsafe { *to.cast() = self.0 }
    }
    #[inline(always)]
    fn add(self, other: Scalar) -> Scalar {
        self.both(other, |a, b| a + b)
    }
    #[inline(always)]
    fn sub(self, other: Scalar) -> Scalar {
        self.both(other, |a, b| a - b)
    }
    #[inline(always)]
    fn mul(self, other: Scalar) -> Scalar {
        self.both(other, |a, b| a * b)
    }
    #[inline(always)]
    fn mul_add(self, by: Scalar, add: Scalar) -> Scalar {
        Scalar(std::array::from_fn(|l| self.0[l].mul_add(by.0[l], add.0[l])))
    }
    #[inline(always)]
    fn minus_product(self, a: Scalar, b: Scalar) -> Scalar {
        Scalar(std::array::from_fn(|l| (-a.0[l]).mul_add(b.0[l], self.0[l])))
    }
    #[inline(always)]
    fn div(self, other: Scalar) -> Scalar {
        self.both(other, |a, b| a / b)
    }
    #[inline(always)]
    fn sqrt(self) -> Scalar {
        Scalar(self.0.map(f64::sqrt))
    }
    #[inline(always)]
    fn at_least(self, least: Scalar) -> Scalar {
        self.both(least, |x, least| if least > x { least } else { x })
    }
    #[inline(always)]
    fn where_le(self, other: Scalar, a: Scalar, b: Scalar) -> Scalar {
        Scalar(std::array::from_fn(|l| if a.0[l] <= b.0[l] { self.0[l] } else { other.0[l] }))
    }
    #[inline(always)]
    fn all_le(self, other: Scalar) -> bool {
        (0..LANES).all(|l| self.0[l] <= other.0[l])
    }
    #[inline(always)]
    fn transpose(x: [Scalar; 4]) -> [Scalar; 4] {
        std::array::from_fn(|i| Scalar(std::array::from_fn(|j| x[j].0[i])))
    }
    #[inline(always)]
    unsafe fn load_pairs(from: [*const f64; LANES]) -> [Scalar; 2] {
        // SAFETY: the caller's promise.
        [0, 1].map(|i| Scalar(from.map(|p| unsafe { *p.add(i) })))
    }
    #[inline(always)]
    unsafe fn add_pairs(x: [Scalar; 2], to: [*mut f64; LANES]) {
        for (l, to) in to.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe {
                *to += x[0].0[l];
                *to.add(1) += x[1].0[l];
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use wide::Avx2;

#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{F64x4, LANES};
    use pulp::x86::V3;
    use std::arch::x86_64::*;

    /// Four numbers in one register, and pulp's proof that the processor has AVX2 and fused
    /// operations, which all operations but loads and stores rest on.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2(__m256d, V3);

    impl Avx2 {
        #[inline(always)]
        fn of(self, x: __m256d) -> Avx2 {
            Avx2(x, self.1)
        }
    }

    impl F64x4 for Avx2 {
        #[inline(always)]
        unsafe fn splat(x: f64) -> Avx2 {
            // SAFETY: the caller's promise.
            let machine = unsafe { V3::new_unchecked() };
            Avx2(machine.avx._mm256_set1_pd(x), machine)
        }
        #[inline(always)]
        fn prefetch(from: *const f64) {
            // SAFETY: every x86-64 processor can prefetch, from any address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f64) -> Avx2 {
            // SAFETY: the caller's promise.
            unsafe { Avx2(_mm256_loadu_pd(from), V3::new_unchecked()) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f64) {
            // SAFETY: the caller's promise.
            unsafe { _mm256_storeu_pd(to, self.0) }
        }
        #[inline(always)]
        fn add(self, other: Avx2) -> Avx2 {
            self.of(self.1.avx._mm256_add_pd(self.0, other.0))
        }
        #[inline(always)]
        fn sub(self, other: Avx2) -> Avx2 {
            self.of(self.1.avx._mm256_sub_pd(self.0, other.0))
        }
        #[inline(always)]
        fn mul(self, other: Avx2) -> Avx2 {
            self.of(self.1.avx._mm256_mul_pd(self.0, other.0))
        }
        #[inline(always)]
        fn mul_add(self, by: Avx2, add: Avx2) -> Avx2 {
            self.of(self.1.fma._mm256_fmadd_pd(self.0, by.0, add.0))
        }
        #[inline(always)]
        fn minus_product(self, a: Avx2, b: Avx2) -> Avx2 {
            self.of(self.1.fma._mm256_fnmadd_pd(a.0, b.0, self.0))
        }
        #[inline(always)]
        fn div(self, other: Avx2) -> Avx2 {
            self.of(self.1.avx._mm256_div_pd(self.0, other.0))
        }
        #[inline(always)]
        fn sqrt(self) -> Avx2 {
            self.of(self.1.avx._mm256_sqrt_pd(self.0))
        }
        #[inline(always)]
        fn at_least(self, least: Avx2) -> Avx2 {
            // The second operand where either is not a number.
            self.of(self.1.avx._mm256_max_pd(least.0, self.0))
        }
        #[inline(always)]
        fn where_le(self, other: Avx2, a: Avx2, b: Avx2) -> Avx2 {
            let avx = self.1.avx;
            let mask = avx._mm256_cmp_pd::<_CMP_LE_OQ>(a.0, b.0);
            self.of(avx._mm256_blendv_pd(other.0, self.0, mask))
        }
        #[inline(always)]
        fn all_le(self, other: Avx2) -> bool {
            let avx = self.1.avx;
            avx._mm256_movemask_pd(avx._mm256_cmp_pd::<_CMP_LE_OQ>(self.0, other.0)) == 0b1111
        }
        #[inline(always)]
        fn transpose(x: [Avx2; 4]) -> [Avx2; 4] {
            let ([a, b, c, d], one, avx) = ([x[0].0, x[1].0, x[2].0, x[3].0], x[0], x[0].1.avx);
            let (ab, ba) = (avx._mm256_unpacklo_pd(a, b), avx._mm256_unpackhi_pd(a, b));
            let (cd, dc) = (avx._mm256_unpacklo_pd(c, d), avx._mm256_unpackhi_pd(c, d));
            [
                one.of(avx._mm256_permute2f128_pd::<0x20>(ab, cd)),
                one.of(avx._mm256_permute2f128_pd::<0x20>(ba, dc)),
                one.of(avx._mm256_permute2f128_pd::<0x31>(ab, cd)),
                one.of(avx._mm256_permute2f128_pd::<0x31>(ba, dc)),
            ]
        }
        #[inline(always)]
        unsafe fn load_pairs(from: [*const f64; LANES]) -> [Avx2; 2] {
            // SAFETY: the caller's promise.
            let (machine, [a, b, c, d]) = unsafe {
                let pairs = [
                    _mm_loadu_pd(from[0]),
                    _mm_loadu_pd(from[1]),
                    _mm_loadu_pd(from[2]),
                    _mm_loadu_pd(from[3]),
                ];
                (V3::new_unchecked(), pairs)
            };
            let avx = machine.avx;
            let ac = avx._mm256_insertf128_pd::<1>(avx._mm256_castpd128_pd256(a), c);
            let bd = avx._mm256_insertf128_pd::<1>(avx._mm256_castpd128_pd256(b), d);
            [
                Avx2(avx._mm256_unpacklo_pd(ac, bd), machine),
                Avx2(avx._mm256_unpackhi_pd(ac, bd), machine),
            ]
        }
        #[inline(always)]
        unsafe fn add_pairs([x, y]: [Avx2; 2], to: [*mut f64; LANES]) {
            let avx = x.1.avx;
            let (ac, bd) = (avx._mm256_unpacklo_pd(x.0, y.0), avx._mm256_unpackhi_pd(x.0, y.0));
            let pairs = [
                avx._mm256_castpd256_pd128(ac),
                avx._mm256_castpd256_pd128(bd),
                avx._mm256_extractf128_pd::<1>(ac),
                avx._mm256_extractf128_pd::<1>(bd),
            ];
            for (pair, to) in pairs.into_iter().zip(to) {
                // SAFETY: the caller's promise.
                unsafe { _mm_storeu_pd(to, x.1.sse2._mm_add_pd(_mm_loadu_pd(to), pair)) }
            }
        }
    }
}

/// True if the processor can do what [`Avx2`] needs.
#[inline]
pub(crate) fn wide_enough() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}
