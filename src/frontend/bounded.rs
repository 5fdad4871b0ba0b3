//! A listener whose connections are few and short, for untrusted clients: one that stalls, hoards connections or never
//! stops sending cannot starve the others for long.

use crate::shares::{Admitted, ConnectionShares};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Sleep;

/// Connections at a time, shared by the addresses that they come from; more are closed at once.
pub const MOST_CONNECTIONS: usize = 16;
/// How long a connection lives, whatever passes on it.
pub const LONGEST: Duration = Duration::from_secs(10);
/// Pause after a connection could not be accepted, usually for want of descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Such a listener.
#[derive(Debug)]
pub struct BoundedListener {
    listener: TcpListener,
    room: ConnectionShares<IpAddr>,
    longest: Duration,
}

impl BoundedListener {
    /// Bounds the connections of a listener.
    pub fn new(listener: TcpListener) -> BoundedListener {
        BoundedListener::within(listener, MOST_CONNECTIONS, LONGEST)
    }

    fn within(listener: TcpListener, most: usize, longest: Duration) -> BoundedListener {
        BoundedListener { listener, room: ConnectionShares::new(most), longest }
    }
}

impl axum::serve::Listener for BoundedListener {
    type Io = BoundedStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (BoundedStream, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    // Dropped, and so closed, where there is no room: a queued connection would hold a descriptor too.
                    if let Some(room) = self.room.admit(address.ip()) {
                        let over = Box::pin(tokio::time::sleep(self.longest));
                        return (BoundedStream { stream, over, _room: room }, address);
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "accepting a connection over HTTP");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that ends in time.
#[derive(Debug)]
pub struct BoundedStream {
    stream: TcpStream,
    over: Pin<Box<Sleep>>,
    _room: Admitted<IpAddr>,
}

impl BoundedStream {
    /// The stream, while its time lasts.
    fn in_time(&mut self, context: &mut Context<'_>) -> io::Result<Pin<&mut TcpStream>> {
        match self.over.as_mut().poll(context) {
            Poll::Ready(()) => Err(io::ErrorKind::TimedOut.into()),
            Poll::Pending => Ok(Pin::new(&mut self.stream)),
        }
    }
}

impl AsyncRead for BoundedStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.in_time(context) {
            Ok(stream) => stream.poll_read(context, into),
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl AsyncWrite for BoundedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.in_time(context) {
            Ok(stream) => stream.poll_write(context, bytes),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.in_time(context) {
            Ok(stream) => stream.poll_flush(context),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::routing::get;
    use std::io::{Read, Write};

    /// What a server answers; nothing if it closes the connection first.
    fn answer(stream: &mut std::net::TcpStream) -> String {
        let mut text = String::new();
        // A connection that is reset has answered nothing either.
        let _ = stream.read_to_string(&mut text);
        text
    }

    fn ask(address: SocketAddr) -> String {
        let mut stream = std::net::TcpStream::connect(address).expect("it listens");
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        answer(&mut stream)
    }

    #[test]
    fn who_stalls_is_cut_off_and_others_are_served_again() {
        let (send, receive) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
                send.send(listener.local_addr().expect("bound")).expect("the test waits");
                let bounded = BoundedListener::within(listener, 3, Duration::from_millis(300));
                axum::serve(bounded, Router::new().route("/", get(|| async { "well" }))).await
            })
        });
        let address = receive.recv().expect("it started");
        assert!(ask(address).ends_with("well"));
        let stall = || {
            let mut stream = std::net::TcpStream::connect(address).expect("it listens");
            stream.write_all(b"GET / HT").expect("taken");
            stream
        };
        let mut stalled = [stall(), stall()];
        assert_eq!(ask(address), "", "there is no room");
        for stream in &mut stalled {
            assert_eq!(answer(stream), "", "closed without an answer");
        }
        assert!(ask(address).ends_with("well"), "there is room again");
    }
}
