import { defineConfig } from "vitest/config";

// Apart from the unit tests: these need a browser and a built command.
export default defineConfig({
    test: { include: ["tests/*.test.ts"], hookTimeout: 60_000 },
});
