//! Decisions of advice on small recordings, which tests make up.

mod fixture;
mod recording;

mod contended;
mod crowded;
mod doubts;
mod elements;
mod findings;
mod gathering;
mod guards;
mod judgements;
mod layouts;
mod line_changes;
mod names;
mod order;
mod predictions;
mod recommended;
mod scenarios;
mod subjects;
