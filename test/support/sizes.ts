/**
 * The sizes of the package as users get them: all that an import needs, dependencies included, in one file that is minified
 * and gzipped. Pages name these figures, and `test/package/size.test.ts` holds them.
 *
 * @module
 */
import { bundle } from './bundle.js'

interface Size {
  /** A module that imports what is measured. */
  readonly code: string
  /** In units of 1,000 bytes, rounded. The pages need no change while it is right within 5 %. */
  readonly kB: number
}

export const SIZES = {
  core: { code: `export { TaskManager } from 'a2a-tasks'`, kB: 24 },
  client: { code: `export { A2AClient } from 'a2a-tasks/client'`, kB: 39 },
  server: { code: `export { createRequestHandler } from 'a2a-tasks/server'`, kB: 132 },
  chat: { code: `export { a2aChatTransport } from 'a2a-tasks/chat'`, kB: 7 },
  ai: { code: `export { aiSdk } from 'a2a-tasks/ai'`, kB: 8.7 },
} satisfies Record<string, Size>

/** The same of the official SDK, version 1.3.0. */
export const OFFICIAL_SIZES = {
  client: { code: `export { ClientFactory } from '@a2a-js/sdk/client'`, kB: 25 },
  server: {
    code: `export { DefaultRequestHandler, InMemoryTaskStore, JsonRpcTransportHandler } from '@a2a-js/sdk/server'`,
    kB: 16,
  },
} satisfies Record<string, Size>

/** The size that `code` has now, in units of 1,000 bytes. */
export async function kBOf(code: string): Promise<number> {
  return (await bundle(code)).gzipBytes / 1_000
}
