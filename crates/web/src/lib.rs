//! `fairair lab`: a page in the browser in which a cell is built, understood and cured, and the small server behind it.
//!
//! Every answer comes from the library of engines in this process. The server reads no file and writes none: a
//! scenario comes with each request and its answer goes back. [`Lab`] is all that a program needs.
//!
//! [`Dashboard`] is the page of the live box. It knows the box as a [`LiveBox`] only. [`SetUpPage`] is the page of its first
//! set-up, and knows that as [`SetUp`].

mod air;
mod answer;
mod assets;
mod compare;
mod dashboard;
mod document;
mod edit;
mod engine;
mod examples;
mod gallery;
mod gate;
mod jobs;
mod limits;
mod listen;
mod plan;
mod reply;
mod run;
mod server;
mod setup;
mod start;

pub use dashboard::{Change, Dashboard, LiveBox, address_with};
pub use examples::Scenario;
pub use listen::new_token;
pub use reply::NoAnswer;
pub use server::{Lab, Options};
pub use setup::{Said, SaidCapacity, SetUp, SetUpPage, Step};
