//! The way to the API server: requests over raw bytes, and the layers every request passes.

mod answer;
mod deletes;
mod error;
mod fence;
mod layers;
mod origin;
mod pages;
mod params;
mod request;
mod target;
mod transport;
mod write;

pub use deletes::DeleteCap;
pub use error::{ClientError, StatusError};
pub use fence::WriteFence;
pub use layers::{AnswerBody, Builder, Fault, FaultError, FaultHook, Recorder, RequestRecord};
pub use origin::Origin;
pub use pages::Pages;
pub use params::{DeleteOptions, ListParams, Page, PatchType, Preconditions, Propagation, WatchParams};
pub use target::Target;
pub use transport::Transport;

pub(crate) use answer::event_status;
pub(crate) use transport::PAGE;
