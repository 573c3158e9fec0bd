// The first set-up of a box: what its server says, and how to ask it.

import { Refused, refusal, type Refusal } from "./api";

export interface Interface {
    name: string;
    role: "up" | "ap" | "neither";
    why: string;
}

export interface Ap {
    /** The interface or radio that was taken. */
    key: string;
    name: string;
    interface: string;
    why: string;
    kind: "adaptive" | "fixed";
    rate: string;
    rate_why: string;
}

export interface Choice {
    name: string;
    mode: "routed" | "bridged";
    why: string;
    aps: Ap[];
    sources: { key: string; names: string[]; why: string; ap: string | null }[];
}

export interface Proposal {
    interfaces: Interface[];
    uplinks: string[];
    /** Why there is no file yet. */
    lack: Refusal | null;
    choice: Choice | null;
    measure: string;
    text: string | null;
}

/** What the operator has said; the keys of names and capacities are interfaces or radios. */
export interface Said {
    name: string | null;
    uplinks: string[];
    aps: string[] | null;
    names: Record<string, string>;
    capacities: Record<string, { adaptive: string } | { fixed: string }>;
}

export const NOTHING: Said = { name: null, uplinks: [], aps: null, names: {}, capacities: {} };

export type Trial =
    | { is: "busy" }
    | { is: "waits"; left_s: number; troubles: string[] }
    | { is: "runs"; troubles: string[] }
    | { is: "ended"; problem: string; fix: string };

export interface Look {
    file: { path: string; is_there: boolean };
    is_root: boolean;
    confirm_s: number;
    check: { findings: string[]; is_good: boolean; commands: string; changes: string } | null;
    trial: Trial | null;
}

export type Step =
    | { do: "look" | "start" | "confirm" | "stop" }
    | { do: "propose"; said: Said }
    | { do: "write"; said: Said; seen: string; replace: boolean };

/** No server answers: the process has ended. */
export const GONE: Refusal = {
    problem: "the set-up does not answer",
    fix: "it has ended: look into its terminal; `fairair vsb init --page` begins again with a new address",
};

/** Takes a step. */
export async function step<T>(token: string, what: Step): Promise<T> {
    const headers = { "content-type": "application/json", "x-fairair-token": token };
    let response: Response;
    try {
        response = await fetch("/api/step", { method: "POST", headers, body: JSON.stringify(what) });
    } catch {
        throw new Refused(GONE);
    }
    if (!response.ok) throw new Refused(await refusal(response));
    return (await response.json()) as T;
}

/** What an interface is to be: `more` is one more way up. */
export type Role = "open" | "up" | "more" | "ap" | "neither";

const keys = (said: Said, proposal: Proposal): string[] =>
    said.aps ?? proposal.choice?.aps.map((ap) => ap.key) ?? [];

/** What the interface is as things stand. */
export function roleOf(said: Said, proposal: Proposal, own: Interface): Role {
    const place = proposal.uplinks.indexOf(own.name);
    if (place >= 0) return place === 0 ? "up" : "more";
    if (proposal.uplinks.length === 0) return own.role === "ap" ? "open" : "neither";
    const isTaken =
        keys(said, proposal).includes(own.name) ||
        (proposal.choice?.aps ?? []).some((ap) => ap.interface === own.name);
    return isTaken ? "ap" : "neither";
}

/** What can be chosen for it: somebody has to be up. */
export function rolesFor(proposal: Proposal, own: Interface): Role[] {
    const { uplinks } = proposal;
    if (uplinks.length === 0) return ["open", "up"];
    if (uplinks.length === 1 && uplinks[0] === own.name) return ["up"];
    return ["up", "more", "ap", "neither"];
}

/** What is said when the interface `name` is to be `role`. */
export function withRole(said: Said, proposal: Proposal, name: string, role: Role): Said {
    const others = proposal.uplinks.filter((own) => own !== name);
    // Which way is up decides what may be an AP: that is proposed anew.
    if (role === "up") return { ...said, uplinks: [name], aps: null };
    if (role === "more") return { ...said, uplinks: [...others, name], aps: null };
    if (role === "open" || proposal.uplinks.length === 0) return said;
    const gone = (proposal.choice?.aps ?? []).filter((ap) => ap.interface === name).map((ap) => ap.key);
    const rest = keys(said, proposal).filter((key) => key !== name && !gone.includes(key));
    const uplinks = others.length < proposal.uplinks.length ? others : said.uplinks;
    return { ...said, uplinks, aps: role === "ap" ? [...rest, name] : rest };
}

/** A rate as the server reads it: a bare number is in Mbit/s. */
export const asRate = (text: string) =>
    /^[\d.]+$/.test(text.trim()) ? `${text.trim()} Mbit/s` : text.trim();

/** A line of the check: what it is, and its words. */
export function finding(line: string): { kind: string; words: string } {
    const [, kind = "", words = line] = /^(ok|note|FAIL)\s+(.*)$/s.exec(line) ?? [];
    return { kind, words };
}
