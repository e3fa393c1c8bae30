/**
 * The tools, prompts and resources that a server offers, within limits: servers are not trusted.
 *
 * @module
 */
import { firstChars } from '../../runtime/cut.js'
import { isRecord, recordOf, type Unread } from '../../runtime/unread.js'
import { isAnswered, send, type McpClient } from './client.js'

/** A prompt that a server offers. */
export interface ListedPrompt {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: Unread
}

/** A tool that a server offers. */
export interface ListedTool extends ListedPrompt {
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
/** The most characters of the address of a resource. */
export const MAX_URI = 8_192
/** The most characters of each other text of a listed resource. */
const MAX_OF_RESOURCE = 1_024
const METHOD_NOT_FOUND = -32_601

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
  return (await chosen(client, 'tool', names, signal)).map(toTool)
}

/**
 * The prompts of the server, or those with these names, in its order. Their arguments are texts.
 *
 * @throws {Error} as {@link listTools}.
 */
export async function listPrompts(
  client: McpClient,
  names: readonly string[] | undefined,
): Promise<ListedPrompt[]> {
  return (await chosen(client, 'prompt', names, undefined)).map((prompt) => {
    const given: unknown = prompt['arguments']
    const known = (Array.isArray(given) ? given : []).filter(isRecord)
    const properties = known.map(({ name, description }) => [
      String(name),
      { type: 'string', ...(typeof description === 'string' && { description }) },
    ])
    const required = known.filter((each) => each['required'] === true).map(({ name }) => String(name))
    const schema = { type: 'object', properties: Object.fromEntries(properties) as Unread, required }
    const { name, title, description } = named(prompt, 'prompt')
    return { name, title, description, inputSchema: schemaOf(name, 'arguments', schema, 'prompt') }
  })
}

/** The first of the resources and templates, and how many there are. */
export async function listResources(client: McpClient, signal: AbortSignal): Promise<Unread> {
  const all = async (method: string, field: string): Promise<Unread[]> => {
    try {
      return await listed(client, method, field, signal)
    } catch (error) {
      // Servers without templates.
      if (isAnswered(error) && error.code === METHOD_NOT_FOUND) return []
      throw error
    }
  }
  const resources = await all('resources/list', 'resources')
  const templates = await all('resources/templates/list', 'resourceTemplates')
  return {
    resources: resources.slice(0, MAX_USED).flatMap(toResource),
    resourceTemplates: templates.slice(0, MAX_USED).flatMap(toResource),
    total: resources.length + templates.length,
  }
}

const TEXTS_OF_RESOURCE = ['name', 'title', 'description', 'mimeType']

/** The texts of a resource or a template. One whose address is too long is left out: cut, it is another. */
function toResource({ uri, uriTemplate, ...others }: Unread): Unread[] {
  const address = uri ?? uriTemplate
  if (typeof address !== 'string' || address.length > MAX_URI) return []
  const resource: Record<string, string> = { [uri === undefined ? 'uriTemplate' : 'uri']: address }
  for (const field of TEXTS_OF_RESOURCE) {
    const value = others[field]
    if (typeof value === 'string') resource[field] = firstChars(value, MAX_OF_RESOURCE)
  }
  return [resource]
}

/** What the server has of one kind, or what has these names. */
async function chosen(
  client: McpClient,
  kind: 'tool' | 'prompt',
  names: readonly string[] | undefined,
  signal: AbortSignal | undefined,
): Promise<Unread[]> {
  const field = `${kind}s`
  const isOffered = recordOf(client.getServerCapabilities())?.[field] !== undefined
  const all = isOffered && names?.length !== 0 ? await listed(client, `${field}/list`, field, signal) : []
  const used = names === undefined ? all : all.filter(({ name }) => names.includes(String(name)))
  const missing = names?.find((each) => used.every(({ name }) => name !== each))
  if (missing !== undefined) throw new Error(`The MCP server has no ${kind} "${missing}"`)
  if (used.length > MAX_USED)
    throw new Error(
      `The MCP server has ${used.length} ${field}, and ${MAX_USED} are the most: name those to use by "${field}"`,
    )
  const known = new Set<unknown>()
  for (const { name } of used) {
    if (known.has(name))
      throw new Error(
        `The MCP server has the ${kind} "${String(name)}" twice in its list: name others to use by "${field}"`,
      )
    known.add(name)
  }
  return used
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

function toTool({ inputSchema, outputSchema, ...others }: Unread): ListedTool {
  const { name, title, description } = named(others, 'tool')
  const input = schemaOf(name, 'inputSchema', inputSchema ?? { type: 'object' })
  const output = outputSchema === undefined ? undefined : schemaOf(name, 'outputSchema', outputSchema)
  return {
    ...{ name, title, description, inputSchema: input },
    ...(output !== undefined && { outputSchema: output }),
    ...executionOf(others),
  }
}

function named(
  { name, title, description, annotations }: Unread,
  kind: string,
): Omit<ListedPrompt, 'inputSchema'> {
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME)
    throw new Error(`The MCP server has a ${kind} whose name is no text of 1 to ${MAX_NAME} characters`)
  const shown = title ?? recordOf(annotations)?.['title']
  return {
    name,
    title: typeof shown === 'string' && shown !== '' ? firstChars(shown, MAX_TITLE) : name,
    description: typeof description === 'string' ? firstChars(description, MAX_DESCRIPTION) : '',
  }
}

function executionOf({ execution }: Unread): Unread {
  const { taskSupport } = recordOf(execution) ?? {}
  return typeof taskSupport === 'string' ? { execution: { taskSupport } } : {}
}

function schemaOf(name: string, field: string, given: unknown, kind = 'tool'): Unread {
  const schema = recordOf(given)
  const { length } = JSON.stringify(given)
  if (schema !== undefined && length <= MAX_SCHEMA) return schema
  const problem =
    schema === undefined ? 'is no object' : `has ${length} characters, and ${MAX_SCHEMA} are the most`
  throw new Error(
    `"${field}" of the ${kind} "${name}" of the MCP server ${problem}: name others to use by "${kind}s"`,
  )
}
