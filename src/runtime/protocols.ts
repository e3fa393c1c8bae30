/**
 * Protocols other than A2A by which a task can come. The message that begins the task says so in its metadata, as any client
 * could: it is for people who look at tasks, and decides nothing.
 *
 * @module
 */

/** The key that MCP writes. Its value has the time when the call began. */
export const MCP_KEY = 'a2a-tasks.dev/mcp'
/** The key that AG-UI writes. Its value is about the front end. */
export const AG_UI_KEY = 'ag-ui'

export type OtherProtocol = 'MCP' | 'AG-UI'

/** The protocol of a first message with this metadata; `undefined` for A2A, and for a task that code has begun. */
export function otherProtocolIn(metadata: object = {}): OtherProtocol | undefined {
  if (Object.hasOwn(metadata, MCP_KEY)) return 'MCP'
  return Object.hasOwn(metadata, AG_UI_KEY) ? 'AG-UI' : undefined
}
