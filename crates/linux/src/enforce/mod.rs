//! The live Virtual Shared Bottleneck: kernel datapath, capacity control, discovery, journal.
