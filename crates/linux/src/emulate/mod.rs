//! The testbed: namespaces joined by a real-time emulation of the contended half-duplex cell.
