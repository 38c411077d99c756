//! Good files of every format, from which damaged ones are derived.

use signorini_cli::run::{Options, settings, simulate};
use signorini_files::builtin::built_in;
use signorini_files::mesh;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Small robots of the other format: many a second, beside the one with everything.
pub const SMALL_MJCF: [&str; 4] = [
    r#"<mujoco><default><joint damping="0.1"/><default class="a"><geom size="0.02"/></default>
</default><worldbody><body name="b" pos="0 0 1"><joint name="j" axis="0 1 0" range="-90 90"/>
<geom class="a" type="capsule" fromto="0 0 0 0.4 0 0"/></body></worldbody>
<actuator><motor name="m" joint="j" gear="2"/></actuator></mujoco>"#,
    r#"<mujoco><compiler angle="radian" autolimits="false"/><worldbody>
<geom type="plane" size="1 1 0.1"/><body name="b" euler="0 0 1"><freejoint/>
<inertial pos="0 0 0.1" mass="2" diaginertia="1 1 1.5"/><geom type="box" size="0.1 0.2 0.3"/>
</body></worldbody><keyframe><key name="k" qpos="0 0 1 1 0 0 0"/></keyframe></mujoco>"#,
    r#"<mujoco><worldbody><body name="b"><joint name="x" type="slide" axis="1 0 0" stiffness="5"/>
<joint name="y" axis="0 0 1"/><geom name="g" size="0.1" mass="1"/></body>
<body name="c" pos="1 0 0"><joint type="ball"/><geom size="0.1"/></body></worldbody>
<contact><exclude body1="b" body2="c"/></contact>
<equality><connect body1="b" body2="c" anchor="0.5 0 0"/></equality></mujoco>"#,
    r#"<mujoco><worldbody><body name="b"><joint name="x"/><geom size="0.1"/><body name="c">
<joint name="y"/><geom type="cylinder" size="0.1 0.2" quat="1 1 0 0"/></body></body></worldbody>
<tendon><fixed name="t"><joint joint="x" coef="1"/><joint joint="y" coef="-1"/></fixed></tendon>
<actuator><position tendon="t" kp="3" forcerange="-1 1"/><velocity joint="x" kv="2"/></actuator>
<equality><joint joint1="x" joint2="y"/><weld body1="c"/></equality></mujoco>"#,
];

/// A robot of two links.
pub const URDF: &str = r#"<robot name="r"><material name="m"><color rgba="1 0 0 1"/></material>
<link name="a"><inertial><origin xyz="0 0 0.1"/><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="1 2 3"/></geometry></collision></link>
<link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin rpy="0 1 0"/><geometry><cylinder radius="0.1" length="1"/></geometry></collision></link>
<joint name="j" type="revolute"><origin xyz="0 0 1" rpy="0 0 1"/><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="10" velocity="3"/><dynamics damping="0.1" friction="0.2"/></joint>
<transmission name="t"><joint name="j"/><actuator name="act"/></transmission></robot>"#;

/// A surface with all forms of a face.
pub const OBJ: &str =
    "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1/1 2/2 4/3\nf 2//1 3//1 4//1\nf -4 -1 -2\n";

/// One tetrahedron (Gmsh).
pub const MSH: &str = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 4 1 4\n3 1 0 4\n1\n2\n3\n4\n0 0 \
    0\n1 0 0\n0 1 0\n0 0 1\n$EndNodes\n\
    $Elements\n1 1 1 1\n3 1 4 1\n1 1 2 3 4\n$EndElements\n";

/// One tetrahedron (VTK, text).
pub const VTK: &str = "# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 \
    double\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n\
    CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n";

/// Two triangles (STL, binary).
pub fn stl() -> Vec<u8> {
    let mut bytes = vec![0; 80];
    bytes.extend(2u32.to_le_bytes());
    for k in 0..2 {
        bytes.extend([0; 12]);
        [0.0f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, k as f32]
            .iter()
            .for_each(|x| bytes.extend(x.to_le_bytes()));
        bytes.extend([0; 2]);
    }
    bytes
}

/// One tetrahedron (VTK, binary).
pub fn binary_vtk() -> Vec<u8> {
    let mut bytes =
        b"# vtk DataFile Version 3.0\nx\nBINARY\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 double\n"
            .to_vec();
    [0.0f64, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
        .iter()
        .for_each(|x| bytes.extend(x.to_be_bytes()));
    bytes.extend(b"\nCELLS 1 5\n");
    [4i32, 0, 1, 2, 3].iter().for_each(|x| bytes.extend(x.to_be_bytes()));
    bytes.extend(b"\nCELL_TYPES 1\n");
    bytes.extend(10i32.to_be_bytes());
    bytes
}

/// Grids in all codings: as text, base64, compressed, appended.
pub fn vtus() -> Vec<Vec<u8>> {
    let text = |kind: &str, arrays: [&str; 4], format: &str, rest: &str| {
        format!(
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" \
                byte_order=\"LittleEndian\" header_type=\"UInt64\"{kind}>\n\
             <UnstructuredGrid><Piece NumberOfPoints=\"4\" NumberOfCells=\"1\">\n<Points><DataArray type=\"Float64\" NumberOfComponents=\"3\" \
             format=\"{format}\"{}</DataArray></Points>\n<Cells><DataArray type=\"Int64\" Name=\"connectivity\" format=\"{format}\"{}</DataArray>\
             <DataArray type=\"Int64\" Name=\"offsets\" format=\"{format}\"{}</DataArray><DataArray type=\"UInt8\" Name=\"types\" \
             format=\"{format}\"{}</DataArray></Cells></Piece></UnstructuredGrid>\n{rest}</VTKFile>\n",
            arrays[0], arrays[1], arrays[2], arrays[3]
        )
        .into_bytes()
    };
    let reals = [0.0f64, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let raw: [Vec<u8>; 4] = [
        reals.iter().flat_map(|x| x.to_le_bytes()).collect(),
        [0i64, 1, 2, 3].iter().flat_map(|x| x.to_le_bytes()).collect(),
        4i64.to_le_bytes().to_vec(),
        vec![10],
    ];
    let packed = |bytes: &Vec<u8>| {
        let mut packer =
            flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut packer, bytes).unwrap();
        let body = packer.finish().unwrap();
        let head: Vec<u8> = [1u64, bytes.len() as u64, 0, body.len() as u64]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        base64(&head) + &base64(&body)
    };
    let counted = |bytes: &Vec<u8>| {
        base64(&[(bytes.len() as u64).to_le_bytes().to_vec(), bytes.clone()].concat())
    };
    let plain = [">0 0 0 1 0 0 0 1 0 0 0 1", ">0 1 2 3", ">4", ">10"];
    let mut out = vec![text("", plain, "ascii", "")];
    let inline: Vec<String> = raw.iter().map(|b| format!(">{}", counted(b))).collect();
    out.push(text("", [&inline[0], &inline[1], &inline[2], &inline[3]], "binary", ""));
    let small: Vec<String> = raw.iter().map(|b| format!(">{}", packed(b))).collect();
    out.push(text(
        " compressor=\"vtkZLibDataCompressor\"",
        [&small[0], &small[1], &small[2], &small[3]],
        "binary",
        "",
    ));
    let (mut data, mut places) = (Vec::new(), Vec::new());
    for bytes in &raw {
        places.push(format!(" offset=\"{}\">", data.len()));
        data.extend((bytes.len() as u64).to_le_bytes());
        data.extend_from_slice(bytes);
    }
    let whole = text(
        "",
        [&places[0], &places[1], &places[2], &places[3]],
        "appended",
        "<AppendedData encoding=\"raw\">_@@</AppendedData>",
    );
    let at = whole.windows(2).position(|w| w == b"@@").unwrap();
    out.push([&whole[..at], &data, &whole[at + 2..]].concat());
    out.iter().for_each(|bytes| {
        drop(
            mesh::vtu::read(bytes)
                .unwrap_or_else(|why| panic!("{why}: {}", String::from_utf8_lossy(bytes))),
        )
    });
    out
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let group =
            three.iter().fold(0u32, |x, b| x << 8 | u32::from(*b)) << (8 * (3 - three.len()));
        (0..4).for_each(|i| {
            out.push(if i <= three.len() {
                LETTERS[(group >> (18 - 6 * i) & 63) as usize] as char
            } else {
                '='
            })
        });
    }
    out
}

/// The record of a short run, one of its steps kept, and a checkpoint.
pub fn recorded() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz-run");
    let _ = std::fs::remove_dir_all(&place);
    let mut loaded = built_in("brick", &[]).unwrap();
    loaded.t_end = 5.0 * loaded.dt;
    let options = Options { out: Some(place.clone()), keep_step: vec![3], ..Options::default() };
    let stop = AtomicBool::new(false);
    simulate(&loaded, settings(&loaded, &options).unwrap(), &options, &stop).unwrap();
    let read = |name: &str| std::fs::read(place.join(name)).unwrap();
    let (record, kept) = (read("record.bin"), read("step-0000003.snapshot.json"));
    // A run that is stopped leaves a checkpoint.
    stop.store(true, Ordering::SeqCst);
    simulate(&loaded, settings(&loaded, &options).unwrap(), &options, &stop).unwrap();
    (record, kept, read("checkpoint.json"))
}

/// The inputs of a file of messages.
pub fn cases(file: &str) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/messages").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    text.split("#### ")
        .skip(1)
        .filter_map(|case| Some(case.split_once('\n')?.1.split_once("\n----\n")?.0.into()))
        .collect()
}
