import { defineConfig } from 'vitest/config'

// Reports made by the program itself, opened in Debian's Chromium.
export default defineConfig({ test: { include: ['tests/browser/*.test.ts'], testTimeout: 300_000, hookTimeout: 120_000, fileParallelism: false } })
