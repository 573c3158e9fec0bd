//! Clients of a listener: a fixed number at once; a silent client gives way to a new one.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::{AbortHandle, JoinSet};

/// Whether a client waits for the daemon. Otherwise the daemon waits for the client, and may leave it.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress(Arc<AtomicBool>);

impl Progress {
    /// The whole request is here, and the daemon works on the answer.
    pub(super) fn asked(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The client has an answer to read.
    pub(super) fn answered(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    fn waits(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// One task a client, at most `most` of them.
#[derive(Debug)]
pub(super) struct Clients {
    most: usize,
    tasks: JoinSet<()>,
    /// The longest connected one first.
    present: Vec<(AbortHandle, Progress)>,
}

impl Clients {
    /// None yet.
    pub(super) fn new(most: usize) -> Clients {
        Clients { most, tasks: JoinSet::new(), present: Vec::new() }
    }

    /// Serves one more. Where there are too many, the one goes that is connected for longest and does not wait for the
    /// daemon; if all wait for the daemon, the newcomer waits for the first that is served.
    pub(super) async fn admit<F>(&mut self, serve: impl FnOnce(Progress) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        while self.tasks.try_join_next().is_some() {}
        while self.tasks.len() >= self.most {
            self.present.retain(|(task, _)| !task.is_finished());
            if let Some((idlest, _)) = self.present.iter().find(|(_, progress)| !progress.waits()) {
                idlest.abort();
            }
            self.tasks.join_next().await;
        }
        self.present.retain(|(task, _)| !task.is_finished());
        let progress = Progress::default();
        let task = self.tasks.spawn(serve(progress.clone()));
        self.present.push((task, progress));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::sync::oneshot;

    use super::*;

    /// Three places: of those who say nothing the first comer goes, who waits for the daemon stays.
    #[tokio::test]
    async fn the_idlest_makes_room_and_who_waits_for_an_answer_stays() {
        let served = Arc::new(Mutex::new(Vec::new()));
        let (answer, answers) = oneshot::channel::<()>();
        let mut clients = Clients::new(3);
        let told = served.clone();
        clients
            .admit(async move |progress: Progress| {
                progress.asked();
                answers.await.unwrap();
                told.lock().unwrap().push("asked");
            })
            .await;
        for _ in 0..100 {
            clients.admit(|_| std::future::pending()).await;
            tokio::task::yield_now().await;
        }
        assert_eq!(clients.tasks.len(), 3);
        let told = served.clone();
        clients.admit(async move |_| told.lock().unwrap().push("newcomer")).await;
        answer.send(()).unwrap();
        while served.lock().unwrap().len() < 2 {
            tokio::task::yield_now().await;
        }
        assert_eq!(*served.lock().unwrap(), ["newcomer", "asked"]);
    }
}
