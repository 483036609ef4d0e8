//! The part of `relayout/verify/1` that only experiments with kernels have.

pub mod contents;

use relayout_workflows::verify::kernel::{
    BuiltKernel, ChangedType, ReplayPrediction, ReplayedChange,
};

use crate::documents::kernel_verify::contents::KernelContents;
use crate::documents::verify::{
    BuiltKernelDocument, ChangedTypeDocument, KernelPairDocument, MovedMemberDocument,
    PredictionDocument, ReplayedDocument, ReplayedSideDocument, VerifyDocument, judged_document,
};
use crate::words::kernel_experiment::{kernel_notes, kernel_sentences};
use crate::words::simulated_time::simulated_machine_words;

/// Makes the document of an experiment with kernels.
pub fn kernel_document(contents: &KernelContents<'_>) -> VerifyDocument {
    let verified = contents.verification;
    let samples = &verified.samples;
    let [before, after] = &verified.kernels;
    let types = verified.changed.iter();
    let predictions = verified.predictions.iter();
    VerifyDocument {
        reverse: Some(contents.reverse),
        yield_every: { verified.machine.is_none() }.then_some(contents.yield_every),
        release: Some(verified.release.clone()),
        machine_words: verified.machine.as_ref().map(simulated_machine_words),
        kernels: Some(KernelPairDocument {
            before: built_document(before),
            after: built_document(after),
        }),
        types: Some(types.map(changed_document).collect()),
        predictions: Some(predictions.map(prediction_document).collect()),
        words: Some(kernel_sentences(
            samples,
            contents.outcome(),
            contents.details(),
        )),
        notes: kernel_notes(contents),
        ..judged_document(&samples.setup, samples.ending, &verified.judged)
    }
}

fn built_document(kernel: &BuiltKernel) -> BuiltKernelDocument {
    BuiltKernelDocument {
        image: kernel.image.display().to_string(),
        debug: kernel.debug.display().to_string(),
        config: kernel.config.display().to_string(),
        build_seconds: kernel.seconds,
    }
}

fn changed_document(changed_type: &ChangedType) -> ChangedTypeDocument {
    let moved = changed_type.moved.iter();
    ChangedTypeDocument {
        name: changed_type.name.clone(),
        old_size: changed_type.size[0],
        new_size: changed_type.size[1],
        members: moved
            .map(|moved| MovedMemberDocument {
                name: moved.member.clone(),
                old_offset: moved.offset[0],
                new_offset: moved.offset[1],
            })
            .collect(),
    }
}

fn prediction_document(prediction: &ReplayPrediction) -> PredictionDocument {
    let replayed = prediction.replayed.as_ref();
    PredictionDocument {
        type_name: prediction.type_name.clone(),
        setting: prediction.setting.clone(),
        refused: replayed.err().cloned(),
        replayed: replayed.ok().map(replayed_document),
    }
}

fn replayed_document(replayed: &ReplayedChange) -> ReplayedDocument {
    let side = |index: usize| ReplayedSideDocument {
        transfers: replayed.transfers[index],
        false_first_touch: replayed.false_first_touch[index],
    };
    let interval = replayed.interval;
    ReplayedDocument {
        before: side(0),
        after: side(1),
        change_percent: replayed.change().map(|change| 100.0 * change),
        ci95_percent: interval.map(|change| [100.0 * change.low, 100.0 * change.high]),
        partial: replayed.is_partial,
    }
}
