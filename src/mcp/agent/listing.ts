/**
 * The tools that a server offers, within limits: servers are not trusted.
 *
 * @module
 */
import { firstChars } from '../../runtime/cut.js'
import { isRecord, recordOf, type Unread } from '../../runtime/unread.js'
import { send, type McpClient } from './client.js'

/** A tool that a server offers. */
export interface ListedTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: Unread
  readonly outputSchema?: Unread
  readonly execution?: Unread
}

/** The tool for the client that calls it, without the schema of the output, which clients would compile. */
export function definitionOf({ name, inputSchema, execution }: ListedTool): Unread {
  return { name, inputSchema, ...(execution !== undefined && { execution }) }
}

const LIST_TIMEOUT_MS = 60_000
/** The most pages of a list. */
const MAX_PAGES = 100
/** The most entries of a list, before any are chosen. */
const MAX_LISTED = 10_000
/** The most entries that are used. */
const MAX_USED = 1_000
const MAX_NAME = 128
const MAX_TITLE = 200
const MAX_DESCRIPTION = 4_096
/** The most characters of a schema as JSON. */
const MAX_SCHEMA = 65_536

/**
 * The tools of the server, or those with these names, in its order.
 *
 * @throws {Error} where the server exceeds a limit, or lacks a tool that is asked for.
 */
export async function listTools(
  client: McpClient,
  names: readonly string[] | undefined,
  signal?: AbortSignal,
): Promise<ListedTool[]> {
  const offered: Unread = { ...client.getServerCapabilities() }
  const all = offered['tools'] === undefined ? [] : await listed(client, 'tools/list', 'tools', signal)
  const used = names === undefined ? all : all.filter(({ name }) => names.includes(String(name)))
  const missing = names?.find((each) => used.every(({ name }) => name !== each))
  if (missing !== undefined) throw new Error(`The MCP server has no tool "${missing}"`)
  if (used.length > MAX_USED)
    throw new Error(
      `The MCP server has ${used.length} tools, and ${MAX_USED} are the most: name those to use by "tools"`,
    )
  const tools = used.map(toTool)
  requireUnique(tools)
  return tools
}

function requireUnique(listed: readonly { readonly name: string }[]): void {
  const names = new Set<string>()
  for (const { name } of listed) {
    if (names.has(name))
      throw new Error(`The MCP server has "${name}" twice in its list: name others to use by "tools"`)
    names.add(name)
  }
}

/** All pages of a list. */
async function listed(
  client: McpClient,
  method: string,
  field: string,
  signal: AbortSignal | undefined,
): Promise<Unread[]> {
  const all: Unread[] = []
  let cursor: unknown
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const params = cursor === undefined ? {} : { cursor }
    const result = await send(client, { method, params }, { signal, timeout: LIST_TIMEOUT_MS })
    const { [field]: entries, nextCursor } = result
    if (!Array.isArray(entries)) throw new Error(`The MCP server has answered "${method}" without "${field}"`)
    if (all.length + entries.length > MAX_LISTED) break
    all.push(...entries.filter(isRecord))
    if (typeof nextCursor !== 'string' || nextCursor === '') return all
    cursor = nextCursor
  }
  throw new Error(
    `The MCP server has more than ${MAX_PAGES} pages or ${MAX_LISTED} entries for "${method}": it may not end`,
  )
}

function toTool({
  name,
  title,
  description,
  inputSchema,
  outputSchema,
  annotations,
  ...others
}: Unread): ListedTool {
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME)
    throw new Error(`The MCP server has a tool whose name is no text of 1 to ${MAX_NAME} characters`)
  const input = schemaOf(name, 'inputSchema', inputSchema ?? { type: 'object' })
  const output = outputSchema === undefined ? undefined : schemaOf(name, 'outputSchema', outputSchema)
  const shown = title ?? recordOf(annotations)?.['title']
  return {
    name,
    title: typeof shown === 'string' && shown !== '' ? firstChars(shown, MAX_TITLE) : name,
    description: typeof description === 'string' ? firstChars(description, MAX_DESCRIPTION) : '',
    inputSchema: input,
    ...(output !== undefined && { outputSchema: output }),
    ...executionOf(others),
  }
}

function executionOf({ execution }: Unread): Unread {
  const { taskSupport } = recordOf(execution) ?? {}
  return typeof taskSupport === 'string' ? { execution: { taskSupport } } : {}
}

function schemaOf(tool: string, field: string, given: unknown): Unread {
  const schema = recordOf(given)
  const { length } = JSON.stringify(given)
  if (schema !== undefined && length <= MAX_SCHEMA) return schema
  const problem =
    schema === undefined ? 'is no object' : `has ${length} characters, and ${MAX_SCHEMA} are the most`
  throw new Error(
    `"${field}" of the tool "${tool}" of the MCP server ${problem}: name others to use by "tools"`,
  )
}
