//! Decisions of advice on small recordings, which tests make up.

mod fixture;
mod recording;

mod accesses;
mod contended;
mod crowded;
mod doubts;
mod elements;
mod findings;
mod forbidden;
mod gathering;
mod guards;
mod homes;
mod judgements;
mod layout_edits;
mod layout_files;
mod line_changes;
mod names;
mod order;
mod recommended;
mod scenarios;
mod searches;
mod subjects;
