// What the page knows of the box, asked again and again.

import { Refused, type Refusal } from "../lib/api";
import {
    bps,
    change,
    explain,
    look,
    past,
    prove,
    type Change,
    type Look,
    type Past,
    type Span,
} from "../lib/box";

/** Looks that a sparkline shows. */
const LOOKS = 60;
const EVERY_MS = 1000;
/** History is asked for anew after so many looks. */
const PAST_EVERY = { hour: 10, day: 60, week: 60 };

const told = (error: unknown): Refusal =>
    error instanceof Refused ? error.refusal : { problem: String(error), fix: "reload the page" };

export class Live {
    look = $state.raw<Look | null>(null);
    /** Why there is no answer now. */
    silence = $state.raw<Refusal | null>(null);
    past = $state.raw<Past | null>(null);
    noPast = $state.raw<Refusal | null>(null);
    span = $state<Span>("hour");
    token = $state("");
    /** Whether the box has taken the token. */
    mayChange = $state(false);
    /** What came of the last change. */
    done = $state("");
    refused = $state.raw<Refusal | null>(null);
    /** Rates in bit/s by station, the newest last. */
    rates = $state.raw<Record<string, number[]>>({});
    why = $state.raw<{ station: string; because: string[] } | null>(null);

    private looks = 0;

    /** Looks until the returned function is called. */
    start(): () => void {
        let timer = 0;
        let ended = false;
        const next = async () => {
            if (!document.hidden) await this.again();
            if (!ended) timer = window.setTimeout(() => void next(), EVERY_MS);
        };
        void next();
        return () => {
            ended = true;
            clearTimeout(timer);
        };
    }

    private async again() {
        try {
            const seen = await look();
            this.look = seen;
            this.silence = null;
            const rates: Record<string, number[]> = {};
            for (const station of seen.stations)
                rates[station.name] = [...(this.rates[station.name] ?? []), bps(station.rate)].slice(-LOOKS);
            this.rates = rates;
            if (this.why) await this.explain(this.why.station);
        } catch (error) {
            this.silence = told(error);
        }
        if (this.looks++ % PAST_EVERY[this.span] === 0) await this.remember();
    }

    private async remember() {
        try {
            this.past = await past(this.span);
            this.noPast = null;
        } catch (error) {
            this.noPast = told(error);
        }
    }

    async show(span: Span) {
        this.span = span;
        await this.remember();
    }

    /** Why `station` gets its rate. */
    async explain(station: string) {
        try {
            this.why = { station, because: (await explain(station)).because };
        } catch (error) {
            this.why = { station, because: [told(error).problem] };
        }
    }

    /** Takes the token if it is the box's. */
    async unlock(token: string) {
        try {
            await prove(token);
            this.token = token;
            this.mayChange = true;
            this.refused = null;
        } catch (error) {
            this.mayChange = false;
            this.refused = told(error);
        }
    }

    async change(what: Change, done: string) {
        this.done = "";
        try {
            await change(this.token, what);
            this.refused = null;
            this.done = done;
            await this.again();
            await this.remember();
        } catch (error) {
            this.refused = told(error);
        }
    }
}
