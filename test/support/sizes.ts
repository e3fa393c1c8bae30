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
  core: { code: `export { TaskManager } from 'a2a-tasks'`, kB: 25 },
  client: { code: `export { A2AClient } from 'a2a-tasks/client'`, kB: 40 },
  server: { code: `export { createRequestHandler } from 'a2a-tasks/server'`, kB: 135 },
} satisfies Record<string, Size>

/**
 * What these add to an application that has the server, the client or both, since none of them works without: what they have in
 * common with those counts once. By `kB` at most.
 */
export const ADDED = [
  { name: 'aiSdk', entry: 'ai', beside: ['server'], kB: 6.5 },
  { name: 'openAiAgents', entry: 'ai', beside: ['server'], kB: 6.5 },
  { name: 'langChain', entry: 'ai', beside: ['server'], kB: 6.7 },
  { name: 'agentTool', entry: 'ai', beside: ['client'], kB: 3 },
  { name: 'openAiAgentTool', entry: 'ai', beside: ['client'], kB: 3 },
  { name: 'langChainAgentTool', entry: 'ai', beside: ['client'], kB: 3 },
  { name: 'agentModel', entry: 'ai', beside: ['client'], kB: 3.2 },
  { name: 'a2aChatTransport', entry: 'chat', beside: ['client'], kB: 5.4 },
  { name: 'createAgUiHandler', entry: 'ag-ui', beside: ['server', 'client'], kB: 8.4 },
  { name: 'createMcpHandler', entry: 'mcp', beside: ['server', 'client'], kB: 14.5 },
] as const

/** The same of the official SDK, version 1.3.0. */
export const OFFICIAL_SIZES = {
  client: { code: `export { ClientFactory } from '@a2a-js/sdk/client'`, kB: 25 },
  server: {
    code: `export { DefaultRequestHandler, InMemoryTaskStore, JsonRpcTransportHandler } from '@a2a-js/sdk/server'`,
    kB: 16,
  },
} satisfies Record<string, Size>

/** What one of {@link ADDED} adds now, in units of 1,000 bytes. */
export async function addedBy({ name, entry, beside }: (typeof ADDED)[number]): Promise<number> {
  const others = beside.map((part) => SIZES[part].code).join(';')
  const all = await kBOf(`${others}; export { ${name} } from 'a2a-tasks/${entry}'`)
  return all - (await kBOf(others))
}

/** The size that `code` has now, in units of 1,000 bytes. */
export async function kBOf(code: string): Promise<number> {
  return (await bundle(code)).gzipBytes / 1_000
}
