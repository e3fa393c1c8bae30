/**
 * MCP over standard input and output: each line is a message, and becomes a request to the handler.
 *
 * @module
 */

type Unread = Readonly<Record<string, unknown>>

interface RelayOptions {
  readonly handler: (request: Request) => Promise<Response>
  /** Writes a message to the client. */
  readonly write: (message: unknown) => void
}

export interface Relay {
  /** Takes a line. Does not reject. */
  readonly take: (line: string) => Promise<void>
  /** Leaves all calls. */
  readonly close: () => void
}

const URL = 'http://localhost/mcp'
const VERSION = 'io.modelcontextprotocol/protocolVersion'

export function relayOf({ handler, write }: RelayOptions): Relay {
  const calls = new Set<AbortController>()
  /** Those that the client cancels by leaving them, by their ids. */
  const stateless = new Map<unknown, AbortController>()
  let session: Readonly<Record<string, string>> = {}

  const send = async (line: string, { id, method, params: given }: Unread): Promise<void> => {
    const params = recordOf(given)
    const version = recordOf(params['_meta'])[VERSION]
    const isStateless = typeof version === 'string'
    // The handler cancels calls of a session by their ids.
    if (method === 'notifications/cancelled') stateless.get(params['requestId'])?.abort()
    const call = new AbortController()
    const isCall = typeof method === 'string' && id !== undefined
    if (isCall && isStateless) stateless.set(id, call)
    calls.add(call)
    const name = isCall && method.startsWith('tasks/') ? params['taskId'] : params['name']
    const headers = isStateless
      ? { 'mcp-protocol-version': version, 'mcp-method': encoded(method), 'mcp-name': encoded(name) }
      : session
    const request = new Request(URL, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: line,
      signal: call.signal,
    })
    try {
      const response = await handler(request)
      const begun = response.headers.get('mcp-session-id')
      if (begun !== null) session = { 'mcp-session-id': begun }
      for await (const answer of messagesOf(response)) if (!call.signal.aborted) write(answer)
    } finally {
      calls.delete(call)
      if (stateless.get(id) === call) stateless.delete(id)
    }
  }

  return {
    async take(line) {
      if (line.trim() === '') return
      const message = parse(line)
      if (message === undefined) {
        write({ jsonrpc: '2.0', error: { code: -32700, message: 'The line is no JSON object' } })
        return
      }
      await send(line, message)
    },
    close() {
      for (const call of calls) call.abort()
    },
  }
}

/** The handler checks the message. */
function parse(line: string): Unread | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}

function recordOf(value: unknown): Unread {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/** Headers are plain ASCII. */
function encoded(given: unknown): string {
  const value = typeof given === 'string' ? given : ''
  return /^[\x21-\x7e]*$/.test(value) ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`
}

async function* messagesOf(response: Response): AsyncGenerator<unknown, void> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const text = await response.text()
    if (text !== '') yield JSON.parse(text)
    return
  }
  const decoder = new TextDecoder()
  let text = ''
  // Each event is one line of data, or a comment.
  // The type of the platform's stream has no iterator.
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true })
    const events = text.split('\n\n')
    text = events.pop() ?? ''
    for (const event of events) if (event.startsWith('data: ')) yield JSON.parse(event.slice(6))
  }
}
