/** Servers that break the protocol on purpose. For each check there is one that it must fail on. */
import type { RequestListener, ServerResponse } from 'node:http'

export interface Broken {
  readonly name: string
  readonly listenerOf: (url: string) => RequestListener
}

const TASK = {
  ...{ id: 'task', contextId: '' },
  status: {
    state: 'done',
    timestamp: 'yesterday',
    message: { parts: [{ text: 'at run (/srv/agent.js:1:2)' }] },
  },
  artifacts: [{ parts: [{ text: 'nothing' }] }],
  history: [{ role: 'king', parts: [{ text: 'never' }] }],
}
const STACK = 'Error: secret\n    at run (/srv/agent/node_modules/agent.js:1:2)'

type Answer = (response: ServerResponse, isStream: boolean) => void

/** Every answer is a success with the same task, or a stream of it without end in sight of a terminal state. */
const agrees: Answer = (response, isStream) => {
  const result = { task: TASK, ...TASK, tasks: [TASK], nextPageToken: 'more', pageSize: '1', totalSize: 7 }
  const text = JSON.stringify({ jsonrpc: '1.0', result, ...result })
  if (isStream) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const update = { taskId: 'other', status: { state: 'working' } }
    const value = { kind: 'status-update', ...update, statusUpdate: update }
    response.end(
      `event: news\ndata: ${JSON.stringify({ jsonrpc: '1.0', id: 0, result: value, ...value })}\n\n`,
    )
  } else response.writeHead(200, { 'content-type': 'text/plain', 'a2a-extensions': 'unknown' }).end(text)
}

/** Every answer is an error of the server that shows its stack. */
const refuses: Answer = (response) => {
  response.writeHead(500, { 'content-type': 'text/plain' }).end(STACK)
}

function brokenBy(name: string, answer: Answer, capable: boolean): Broken {
  const capabilities = { streaming: capable, pushNotifications: capable }
  const listenerOf = (url: string): RequestListener => {
    const card = JSON.stringify({
      capabilities,
      skills: [{}],
      supportedInterfaces: ['1.0.0', '0.3.0'].flatMap((protocolVersion) => [
        { url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion },
        { url: `${url}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion },
      ]),
    })
    return (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const isCard = request.url === '/.well-known/agent-card.json'
        const body = Buffer.concat(chunks).toString()
        const isStream =
          /:(stream|subscribe)$/.test(request.url ?? '') || /"\w+\/?(Stream|stream|[Ss]ubscribe)/.test(body)
        if (isCard) response.writeHead(200, { 'content-type': 'text/html' }).end(card)
        else answer(response, isStream)
      })
    }
  }
  return { name: `${name}, ${capable ? 'with' : 'without'} capabilities`, listenerOf }
}

export const BROKEN: readonly Broken[] = [true, false].flatMap((capable) => [
  brokenBy('a server that agrees to everything', agrees, capable),
  brokenBy('a server that refuses everything', refuses, capable),
])
