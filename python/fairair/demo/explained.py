"""What each remedy does, in a line, for those who see it for the first time."""

from __future__ import annotations

__all__ = ["EXPLAINED"]

EXPLAINED = {
    "none": "The cell as it is.",
    "droptail": "One queue at the AP, first in, first out, of the default size.",
    "buffer-sizing": "The same queue, made as short or long as a model of the cell asks for.",
    "las": "The connection that has got the least so far goes first; long transfers wait.",
    "tlas": "Short transfers go first; those beyond a threshold share one queue.",
    "tlas-saf": "The same, and ACKs of long uploads are thinned out so that they take no place from downloads.",
    "dual-queue:optimal": "Data and ACKs wait apart; a formula says how often each is served.",
    "dual-queue:modified": "The same, with the paper's correction for many uploads.",
    "dual-queue:auto": "The same; how often each is served follows what uploads and downloads get.",
    "per-flow-fq": "Flows take turns at the AP.",
    "per-station-fq": "Stations take turns at the AP.",
    "fq-codel": "Flows take turns, and each keeps its queue short by early drops.",
    "airtime-fq": "Stations take turns by the air that they use, so that a slow one costs only itself.",
    "mac80211": "Linux' queues: flows take turns under CoDel, and stations take turns by the air of both directions.",
    "edca": "The AP tells stations to wait longer before they send, if the cell has EDCA (802.11n, ac, ax).",
    "mac80211+edca": "Linux' queues, and stations are told to wait longer before they send.",
    "admission": "The AP drops a fixed share of all that arrives.",
    "adaptive-buffer": "The queue's size follows the cell's speed, so that waiting stays near a target.",
    "window-cap:lossless": "The AP lowers TCP windows in passing so that its queue never overflows.",
    "window-cap:b-over-n": "The same with a simpler rule: the queue over the number of flows.",
    "window-cap:tfbr": "The same with a window for one upload against many downloads.",
    "uplink-limiter": "The AP slows what comes up to half of what the cell can carry.",
    "uplink-limiter:flows": "The AP slows what comes up to its share by the number of flows.",
    "vsb": "A box before the AP gives each station the same rate and keeps the AP's queue short; C by feedback.",
    "vsb:wce": "The same box with the paper's way of finding C.",
    "vsb:air": "The same box; C is reckoned from the stations' rates.",
    "vsb:airtime": "The same box; each station gets the same share of the air instead of the same rate.",
    "vsb:per-direction": "The same box; uploads together get as much as downloads together.",
    "vsb:per-flow": "The same box; each flow gets the same, so that who opens more gets more.",
}
"""By the name that ``fairair compare`` knows. docs/remedies.md and docs/remedies-box.md have the whole story."""
