//! Meshes from files, soft bodies in scene files, series of fields.

use glam::DVec3;
use signorini::geometry::Tetrahedra;
use signorini::scene::{SoftId, State};
use signorini::step::{Settings, Stepper};
use signorini_files::mesh::{self, legacy, msh, vtu};
use signorini_files::scenefile;
use std::path::PathBuf;

/// One cell of six tetrahedra, 10 cm wide.
fn cell() -> Tetrahedra {
    Tetrahedra::block([1, 1, 1], DVec3::splat(0.1))
}

/// Gmsh's text, nodes numbered from 11, elements from 101, a triangle before them.
fn msh_text(mesh: &Tetrahedra) -> String {
    let n = mesh.nodes.len();
    let mut text =
        format!("$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 {n} 11 {}\n3 1 0 {n}\n", 10 + n);
    (0..n).for_each(|i| text += &format!("{}\n", 11 + i));
    mesh.nodes.iter().for_each(|x| text += &format!("{} {} {}\n", x.x, x.y, x.z));
    text += "$EndNodes\n$Elements\n2 0 100 0\n2 1 2 1\n100 11 12 13\n";
    text += &format!("3 1 4 {}\n", mesh.elements.len());
    for (e, nodes) in mesh.elements.iter().enumerate() {
        let [a, b, c, d] = nodes.map(|n| n + 11);
        text += &format!("{} {a} {b} {c} {d}\n", 101 + e);
    }
    text + "$EndElements\n"
}

fn msh_binary(mesh: &Tetrahedra) -> Vec<u8> {
    let mut out = b"$MeshFormat\n4.1 1 8\n\x01\0\0\0\n$EndMeshFormat\n$Nodes\n".to_vec();
    let n = mesh.nodes.len() as u64;
    let int = |out: &mut Vec<u8>, x: i32| out.extend(x.to_le_bytes());
    let size = |out: &mut Vec<u8>, x: u64| out.extend(x.to_le_bytes());
    [1, n, 1, n].into_iter().for_each(|x| size(&mut out, x));
    [3, 1, 0].into_iter().for_each(|x| int(&mut out, x));
    size(&mut out, n);
    (1..=n).for_each(|x| size(&mut out, x));
    mesh.nodes.iter().flat_map(|x| x.to_array()).for_each(|x| out.extend(x.to_le_bytes()));
    out.extend(b"\n$EndNodes\n$Elements\n");
    let m = mesh.elements.len() as u64;
    [1, m, 1, m].into_iter().for_each(|x| size(&mut out, x));
    [3, 1, 4].into_iter().for_each(|x| int(&mut out, x));
    size(&mut out, m);
    for (e, nodes) in mesh.elements.iter().enumerate() {
        size(&mut out, e as u64 + 1);
        nodes.iter().for_each(|&n| size(&mut out, u64::from(n) + 1));
    }
    out.extend(b"\n$EndElements\n");
    out
}

fn vtk_text(mesh: &Tetrahedra) -> String {
    let mut text = format!(
        "# vtk DataFile Version 3.0\nmesh\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS {} double\n",
        mesh.nodes.len()
    );
    mesh.nodes.iter().for_each(|x| text += &format!("{} {} {}\n", x.x, x.y, x.z));
    let m = mesh.elements.len();
    text += &format!("CELLS {} {}\n3 0 1 2\n", m + 1, 5 * m + 4);
    mesh.elements.iter().for_each(|e| text += &format!("4 {} {} {} {}\n", e[0], e[1], e[2], e[3]));
    text + &format!("CELL_TYPES {}\n5\n{}", m + 1, "10\n".repeat(m))
}

/// The newer binary form, with offsets.
fn vtk_binary(mesh: &Tetrahedra) -> Vec<u8> {
    let m = mesh.elements.len();
    let mut out = format!(
        "# vtk DataFile Version 5.1\nmesh\nBINARY\nDATASET UNSTRUCTURED_GRID\nPOINTS {} float\n",
        mesh.nodes.len()
    )
    .into_bytes();
    mesh.nodes.iter().flat_map(|x| x.to_array()).for_each(|x| out.extend((x as f32).to_be_bytes()));
    out.extend(format!("\nCELLS {} {}\nOFFSETS vtktypeint64\n", m + 1, 4 * m).bytes());
    (0..=m as i64).for_each(|x| out.extend((4 * x).to_be_bytes()));
    out.extend(b"\nCONNECTIVITY vtktypeint64\n");
    mesh.elements.iter().flatten().for_each(|&n| out.extend(i64::from(n).to_be_bytes()));
    out.extend(format!("\nCELL_TYPES {m}\n").bytes());
    (0..m).for_each(|_| out.extend(10i32.to_be_bytes()));
    out
}

/// A `.vtu` with zlib-compressed appended raw data, as ParaView writes it.
fn vtu_appended(mesh: &Tetrahedra) -> Vec<u8> {
    use std::io::Write;
    let m = mesh.elements.len();
    let mut data = Vec::new();
    let mut put = |bytes: Vec<u8>| {
        let offset = data.len();
        // Two blocks: the first half and the rest.
        let half = bytes.len() / 2;
        let pieces: Vec<Vec<u8>> = [&bytes[..half], &bytes[half..]]
            .map(|piece| {
                let mut encoder =
                    flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(piece).unwrap();
                encoder.finish().unwrap()
            })
            .to_vec();
        for x in [2, half, bytes.len() - half, pieces[0].len(), pieces[1].len()] {
            data.extend((x as u32).to_le_bytes());
        }
        pieces.iter().for_each(|p| data.extend(p));
        offset
    };
    let points =
        put(mesh.nodes.iter().flat_map(|x| x.to_array()).flat_map(f64::to_le_bytes).collect());
    let corners =
        put(mesh.elements.iter().flatten().flat_map(|&n| i64::from(n).to_le_bytes()).collect());
    let ends = put((1..=m as i64).flat_map(|e| (4 * e).to_le_bytes()).collect());
    let types = put(vec![10; m]);
    let array = |kind: &str, name: &str, offset: usize| {
        format!(
            "<DataArray type=\"{kind}\" Name=\"{name}\" format=\"appended\" offset=\"{offset}\"/>\n"
        )
    };
    let mut out = format!(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"0.1\" \
            byte_order=\"LittleEndian\" header_type=\"UInt32\" compressor=\"vtkZLibDataCompressor\">\n<UnstructuredGrid>\n<Piece NumberOfPoints=\"{}\" NumberOfCells=\"{m}\">\n<PointData>\n</PointData>\n<Points>\n{}</Points>\n<Cells>\n{}{}{}</Cells>\n</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_",
        mesh.nodes.len(),
        array("Float64", "Points", points),
        array("Int64", "connectivity", corners),
        array("Int64", "offsets", ends),
        array("UInt8", "types", types),
    )
    .into_bytes();
    out.extend(&data);
    out.extend(b"\n</AppendedData>\n</VTKFile>\n");
    out
}

#[test]
fn every_format_gives_the_same_mesh() {
    let mesh = cell();
    for (name, imported, accuracy) in [
        ("msh text", msh::read(msh_text(&mesh).as_bytes()), 0.0),
        ("msh binary", msh::read(&msh_binary(&mesh)), 0.0),
        ("vtk text", legacy::read(vtk_text(&mesh).as_bytes()), 0.0),
        // Floats.
        ("vtk binary", legacy::read(&vtk_binary(&mesh)), 1e-8),
        ("vtu appended", vtu::read(&vtu_appended(&mesh)), 0.0),
    ] {
        let found = imported
            .unwrap_or_else(|why| panic!("{name}: {why}"))
            .checked(None)
            .unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(found.elements, mesh.elements, "{name}");
        assert_eq!(found.nodes.len(), mesh.nodes.len(), "{name}");
        assert!(
            found.nodes.iter().zip(&mesh.nodes).all(|(a, b)| a.distance(*b) <= accuracy),
            "{name}"
        );
    }
}

#[test]
fn bad_meshes_get_one_line_with_the_number_of_the_element() {
    let told = |change: &dyn Fn(&mut Tetrahedra), unit: Option<f64>| {
        let mut mesh = cell();
        change(&mut mesh);
        let message =
            msh::read(msh_text(&mesh).as_bytes()).and_then(|m| m.checked(unit)).unwrap_err();
        assert!(!message.contains('\n'), "{message}");
        message
    };
    for (wanted, message) in [
        ("element 103 is inverted", told(&|m| m.elements[2].swap(0, 1), None)),
        ("node 19 is an orphan", told(&|m| m.nodes.push(DVec3::splat(0.05)), None)),
        ("element 107 is a duplicate of element", told(&|m| m.elements.push(m.elements[4]), None)),
        (
            "has node 8 in the very place of node 7",
            told(
                &|m| {
                    m.nodes.push(m.nodes[7]);
                    let last = m.elements.len() - 1;
                    m.elements[last].iter_mut().filter(|n| **n == 7).for_each(|n| *n = 8);
                },
                None,
            ),
        ),
        (
            "wrong units? the mesh (from element 101 on) is 2.000e2 m",
            told(&|m| m.nodes.iter_mut().for_each(|x| *x *= 2000.0), None),
        ),
    ] {
        assert!(message.contains(wanted), "{message}\nwanted {wanted}");
    }
    // With its unit said, the same mesh is 0.2 m long.
    let mut mesh = cell();
    mesh.nodes.iter_mut().for_each(|x| *x *= 2000.0);
    let metres = msh::read(msh_text(&mesh).as_bytes()).unwrap().checked(Some(1e-3)).unwrap();
    assert!((metres.extent() - 0.2).abs() < 1e-15);
    // Other elements and broken files.
    let hexahedron = msh_text(&cell()).replace("3 1 4 6", "3 1 5 6");
    assert!(
        msh::read(hexahedron.as_bytes()).unwrap_err().contains("element 101 is of Gmsh's type 5")
    );
    let old = msh_text(&cell()).replace("4.1 0 8", "2.2 0 8");
    assert!(msh::read(old.as_bytes()).unwrap_err().contains("wanted 4.1"));
    let text = msh_text(&cell());
    assert!(msh::read(&text.as_bytes()[..text.len() / 2]).is_err());
    assert!(
        legacy::read(vtk_text(&cell()).replace("10\n", "12\n").as_bytes())
            .unwrap_err()
            .contains("element 1 is of VTK's type 12")
    );
    assert!(mesh::read(&PathBuf::from("nowhere.msh")).unwrap_err().contains("cannot read"));
}

#[test]
fn a_scene_with_a_soft_body_from_a_file_runs_and_leaves_fields_that_can_be_read_again() {
    let folder = std::env::temp_dir().join(format!("signorini_soft_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut block = Tetrahedra::block([3, 3, 2], DVec3::new(300.0, 300.0, 200.0));
    block.nodes.iter_mut().for_each(|x| x.z += 1.0);
    std::fs::write(folder.join("block.msh"), msh_text(&block)).unwrap();
    let text = r#"
        [[soft]]
        name = "block"
        file = "block.msh"
        unit = "mm"
        young = "1 MPa"
        density = "1000 kg/m^3"
        stiffness_damping = "5 ms"
        [[body]]
        name = "floor"
        fixed = true
        shape = { half_space = true }
        [run]
        dt = "5 ms"
        solver = "interior-point"
    "#;
    std::fs::write(folder.join("scene.toml"), text).unwrap();
    let loaded = scenefile::load(&folder.join("scene.toml"), &[]).unwrap_or_else(|f| panic!("{f}"));
    let scene = &loaded.scene;
    assert_eq!(scene.softs[0].mesh.elements.len(), 108);
    let mut stepper = Stepper::new(scene, Settings::with_time_step(5e-3)).unwrap();
    let mut state = State::initial(scene);
    let mut series = signorini_record::vtu::Series::new(&folder);
    for _ in 0..60 {
        stepper.step(scene, &mut state).unwrap();
    }
    series.write(scene, &stepper, &state).unwrap();
    let fields = stepper.fields(scene, &state, SoftId(0));
    // The pressure on the floor carries the weight: Σ p A = m g, and the forces say the same.
    let weight = 18.0 * 9.81;
    let force: f64 = fields.contact_forces.iter().map(|f| f.z).sum();
    assert!((force / weight - 1.0).abs() < 0.01, "{force} {weight}");
    let mean = fields.pressure.iter().sum::<f64>() / 16.0;
    assert!(
        (mean / (weight / 0.09) - 1.0).abs() < 0.6
            && fields.von_mises.iter().all(|s| s.is_finite()),
        "{mean}"
    );
    let again = mesh::read(&folder.join("block_000000.vtu")).unwrap();
    assert_eq!(again.mesh.nodes, fields.positions);
    assert_eq!(again.mesh.elements, scene.softs[0].mesh.elements);
    assert!(
        std::fs::read_to_string(folder.join("block.pvd")).unwrap().contains("block_000000.vtu")
    );
    // A fault of the mesh stands at its line of the scene, in one line.
    std::fs::write(
        folder.join("block.msh"),
        msh_text(&Tetrahedra { elements: vec![[0, 2, 1, 17]], ..block }),
    )
    .unwrap();
    let message = scenefile::load(&folder.join("scene.toml"), &[]).err().unwrap().to_string();
    assert!(message.contains("element 101"), "{message}");
    std::fs::remove_dir_all(&folder).unwrap();
}
