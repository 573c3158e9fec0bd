// The tables of a scenario as the cards see them.

import type { Json, Table } from "./api";

export function isTable(value: Json | undefined): value is Table {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value at a path of keys; undefined where nothing is written. */
export function at(table: Table | null | undefined, ...path: string[]): Json | undefined {
    let value: Json | undefined = table ?? undefined;
    for (const key of path) {
        if (!isTable(value)) return undefined;
        value = value[key];
    }
    return value;
}

export function list(value: Json | undefined): Table[] {
    return Array.isArray(value) ? value.filter(isTable) : [];
}

/** A plain value as text; empty for what is no plain value. */
export function text(value: Json | undefined): string {
    return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
        ? String(value)
        : "";
}

/** A flow of a station as a card shows it. */
export interface FlowCard {
    direction: string;
    kind: string;
    count: number;
}

export function flow(table: Table): FlowCard {
    const count = table.count;
    return {
        direction: text(table.direction),
        kind: text(table.kind) || "tcp",
        count: typeof count === "number" ? count : 1,
    };
}

/** A whole number of a control; null where it is none within the limits. */
export function whole(written: string, least: number, most: number): number | null {
    const value = Number(written);
    return written.trim() !== "" && Number.isInteger(value) && value >= least && value <= most ? value : null;
}
