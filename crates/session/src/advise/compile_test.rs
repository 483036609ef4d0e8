//! Compile tests of a patch in configurations of the kernel, and the members' offsets there.

use std::path::Path;

use relayout_advice::{GatheredType, ResolvedProfile, shape_in_catalog};
use relayout_files::{CacheFolder, InterruptFlag};
use relayout_layout::abi::{AtomArrangement, StructLayout, StructShape};
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::SectionStore;
use relayout_messages::UserError;
use relayout_search::ScoredLayout;
use relayout_search::order::MemberOrder;
use relayout_toolchain::kernel_build::{
    BuildWatch, KernelBuilder, KernelConfiguration, TestedObject,
};

/// Result of compiling a patch in one configuration.
#[derive(Clone, Debug)]
pub struct CompileTest {
    /// Architecture and configuration: `arm:defconfig`.
    pub configuration: String,
    /// Verdict.
    pub verdict: CompileVerdict,
}

/// Verdict of a compile test.
#[derive(Clone, Debug)]
pub enum CompileVerdict {
    /// The source files compile, and the struct is laid out as intended.
    Good {
        /// Source files.
        units: Vec<String>,
        /// True if the struct is the recorded one, so that its new layout is the scored one.
        as_scored: bool,
    },
    /// No verdict is possible, with the reason.
    Unknown(String),
    /// A source file does not compile, or its struct has another layout.
    Bad {
        /// Source file.
        unit: String,
        /// Reason.
        why: String,
    },
}

impl CompileTest {
    /// True if the patch is bad in this configuration.
    pub fn is_bad(&self) -> bool {
        matches!(self.verdict, CompileVerdict::Bad { .. })
    }

    /// Returns the result in words: `x86:allnoconfig: mm/percpu.c compiles; ...`.
    pub fn sentence(&self) -> String {
        let configuration = &self.configuration;
        match &self.verdict {
            CompileVerdict::Good { units, as_scored } => {
                let verb = if units.len() == 1 {
                    "compiles"
                } else {
                    "compile"
                };
                let layout = match as_scored {
                    true => "the layout is the scored one",
                    false => {
                        "the struct is another one there, and its members are in the order of the patch"
                    }
                };
                format!("{configuration}: {} {verb}; {layout}", units.join(", "))
            }
            CompileVerdict::Unknown(reason) => format!("{configuration}: not judged, {reason}"),
            CompileVerdict::Bad { unit, why } => format!("{configuration}: {unit}: {why}"),
        }
    }
}

/// Compiler of the source files that include a patched file.
pub(super) struct CompileTester<'a> {
    resolved: &'a ResolvedProfile<'a>,
    builder: KernelBuilder,
}

impl<'a> CompileTester<'a> {
    /// Opens the source tree.
    ///
    /// # Errors
    /// There is no folder for objects, a tool is missing, or the source is not a kernel's.
    pub fn open(resolved: &'a ResolvedProfile<'_>, source: &Path) -> Result<Self, UserError> {
        let cache = CacheFolder::locate().ok_or_else(|| {
            UserError::input(
                "there is no folder for compiled objects: set RELAYOUT_CACHE, XDG_CACHE_HOME or HOME",
            )
        })?;
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let builder = KernelBuilder::open(&cache, source, None, jobs)?;
        Ok(Self { resolved, builder })
    }

    /// Compiles the edit of a type, a diff of files, in each configuration.
    ///
    /// # Errors
    /// A tool is missing, or the source cannot be configured.
    pub fn test_configurations(
        &self,
        configurations: &[KernelConfiguration],
        (gathered, candidate): (&GatheredType<'_>, &ScoredLayout),
        (diff, paths): (&str, &[String]),
    ) -> Result<Vec<CompileTest>, UserError> {
        let watch = BuildWatch {
            progress: self.resolved.progress,
            update: &|_| (),
            interrupt: InterruptFlag::catch(),
        };
        let test_configuration = |configuration: &KernelConfiguration| {
            let objects = self
                .builder
                .compile_objects(diff, configuration, paths, &watch);
            let objects = objects?;
            Ok(CompileTest {
                configuration: configuration.to_string(),
                verdict: judge_objects(gathered, candidate, &objects)?,
            })
        };
        configurations.iter().map(test_configuration).collect()
    }
}

fn judge_objects(
    gathered: &GatheredType<'_>,
    candidate: &ScoredLayout,
    objects: &[TestedObject],
) -> Result<CompileVerdict, UserError> {
    let (mut units, mut all_as_scored) = (Vec::new(), true);
    for object in objects {
        let bad_verdict = |why: String| {
            Ok(CompileVerdict::Bad {
                unit: object.unit.clone(),
                why,
            })
        };
        let after = match &object.after {
            Ok(after) => after,
            Err(compiler_message) => return bad_verdict(compiler_message.clone()),
        };
        let before = match shape_in_object(&object.before, &gathered.definition_name())? {
            Ok(shape) => shape,
            // The object includes the file for another reason.
            Err(_) => continue,
        };
        let after = match shape_in_object(after, &gathered.definition_name())? {
            Ok(shape) => shape,
            Err(reason) => return bad_verdict(reason),
        };
        match compare_layouts(&gathered.shape, &candidate.arrangement, &before, &after) {
            Ok(as_scored) => all_as_scored &= as_scored,
            Err(reason) => return bad_verdict(reason),
        }
        units.push(object.unit.clone());
    }
    Ok(match units.is_empty() {
        true => CompileVerdict::Unknown(format!(
            "no source file was found that compiles there, includes it and has struct {}",
            gathered.name
        )),
        false => CompileVerdict::Good {
            units,
            as_scored: all_as_scored,
        },
    })
}

fn shape_in_object(object: &[u8], name: &str) -> Result<Result<StructShape, String>, UserError> {
    let store = SectionStore::default();
    TypeCatalog::parse(object, &store, DebugInfoFormat::Any)
        .and_then(|catalog| shape_in_catalog(&catalog, name))
        .map_err(UserError::wrap("cannot read the compiled object"))
}

/// Checks that `after` is `before` with the arrangement of the recorded type. Returns true if
/// `before` is the recorded type, so that `after` is the scored layout.
fn compare_layouts(
    recorded: &StructShape,
    arrangement: &AtomArrangement,
    before: &StructShape,
    after: &StructShape,
) -> Result<bool, String> {
    let mut order = MemberOrder::from_arrangement(arrangement.clone()).carry_over(recorded, before);
    let current_offsets =
        |shape: &StructShape| member_offsets(shape, &shape.lay_out(&shape.current_arrangement()));
    let after_offsets = current_offsets(after);
    let expected_offsets = member_offsets(before, &before.lay_out(&order.arrangement));
    if after_offsets == expected_offsets {
        return Ok(current_offsets(before) == current_offsets(recorded));
    }
    // The kernel's macros align nothing in a configuration without SMP.
    order.arrangement.align.fill(1);
    order.arrangement.type_align = 1;
    if after_offsets == member_offsets(before, &before.lay_out(&order.arrangement)) {
        return Ok(false);
    }
    let mut differences = after_offsets.iter().zip(&expected_offsets);
    Err(
        match differences.find(|(after_offset, expected_offset)| after_offset != expected_offset) {
            Some(((name, offset), (expected_name, expected_offset))) => {
                format!(
                    "'{name}' is at {offset}, and '{expected_name}' should be at {expected_offset}"
                )
            }
            None => format!(
                "it has {} members, not {}",
                after_offsets.len(),
                expected_offsets.len()
            ),
        },
    )
}

/// Returns the members with their offsets, in order, and the size.
fn member_offsets(shape: &StructShape, layout: &StructLayout) -> Vec<(String, u64)> {
    let mut offsets: Vec<(String, u64)> = (shape.atoms.iter().zip(&layout.places))
        .map(|(atom, place)| (atom.name.clone(), place.offset))
        .collect();
    offsets.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
    offsets.push(("the end".to_owned(), layout.size));
    offsets
}

#[cfg(test)]
mod tests {
    use relayout_layout::abi::AbiEngine;
    use relayout_layout::{Aggregate, Member, Type, TypeArena};

    use super::*;

    fn struct_shape(members: &[(&str, u64)], align: &[(&str, u64)]) -> StructShape {
        let mut types = TypeArena::default();
        let long = types.add(Type::Base {
            name: "long".to_owned(),
            size: 8,
        });
        let member = |&(name, offset): &(&str, u64)| Member {
            is_base: false,
            name: Some(name.to_owned()),
            ty: long,
            offset,
            bits: None,
            declared_align: align
                .iter()
                .find(|(aligned_name, _)| *aligned_name == name)
                .map(|(_, align)| *align),
            decl: None,
        };
        let end = members.iter().map(|(_, offset)| offset + 8).max();
        let align_max = align.iter().map(|(_, align)| *align).max().unwrap_or(8);
        let aggregate = Aggregate {
            name: Some("s".to_owned()),
            size: end.unwrap_or(0).next_multiple_of(align_max),
            members: members.iter().map(member).collect(),
            complete: true,
            ..Aggregate::default()
        };
        AbiEngine::new(&types).shape(&aggregate).expect("a struct")
    }

    /// `b` to the front, and `c` to a line of its own.
    fn test_arrangement(shape: &StructShape) -> AtomArrangement {
        let mut arrangement = shape.current_arrangement();
        arrangement.order = vec![1, 0, 2];
        arrangement.align[2] = 64;
        arrangement
    }

    #[test]
    fn layouts_are_compared() {
        let recorded = struct_shape(&[("a", 0), ("b", 8), ("c", 16)], &[]);
        let assert_compared = |before: &StructShape,
                               after: &StructShape,
                               expect: Result<bool, &str>| {
            let result = compare_layouts(&recorded, &test_arrangement(&recorded), before, after);
            assert_eq!(result, expect.map_err(str::to_owned));
        };
        let good = struct_shape(&[("b", 0), ("a", 8), ("c", 64)], &[("c", 64)]);
        assert_compared(&recorded, &good, Ok(true));
        // A configuration with another member, and one in which the macro is empty.
        let other = struct_shape(&[("a", 0), ("x", 8), ("b", 16), ("c", 24)], &[]);
        let other_good = struct_shape(&[("b", 0), ("a", 8), ("x", 16), ("c", 64)], &[("c", 64)]);
        assert_compared(&other, &other_good, Ok(false));
        let unaligned = struct_shape(&[("b", 0), ("a", 8), ("c", 16)], &[]);
        assert_compared(&recorded, &unaligned, Ok(false));
        assert_compared(
            &recorded,
            &recorded,
            Err("'a' is at 0, and 'b' should be at 0"),
        );
        assert_compared(
            &recorded,
            &other,
            Err("'a' is at 0, and 'b' should be at 0"),
        );
    }
}
