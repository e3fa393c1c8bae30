/** Agents over loopback for the program, and servers that are none. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRequestHandler, textOf, type Run } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { onTestFinished } from 'vitest'
import * as z from 'zod'

/** Sequences that a terminal would obey: colours, its title, the clipboard, a link, C1, and a reversed text. */
export const HOSTILE =
  '\x1b[31mred\x1b]0;title\x07\x1b]52;c;aGk=\x07\x1b]8;;http://x\x07\x9b2J\u202egnp.exe\r'

async function* execute(run: Run): AsyncGenerator<string> {
  const [word = ''] = run.text.split(' ')
  if (word === 'ask') {
    yield `Hello ${textOf(await run.requireInput(`Who are you? ${HOSTILE}`))}`
    return
  }
  if (word === 'form') {
    const schema = z.object({ city: z.string().min(2), class: z.enum(['first', 'second']) })
    yield JSON.stringify(await run.requireInput('Where?', { schema }))
    return
  }
  if (word === 'login') {
    const options = {
      url: 'https://login.example/?state=1',
      message: `Let me in ${HOSTILE}`,
      expiresInMs: 3_000,
    }
    yield await run.authorize<string>('account', options).catch(String)
    return
  }
  if (word === 'spend') {
    run.update('Thinking')
    run.spend({ inputTokens: 10, cost: 0.5 })
    yield 'one '
    run.spend({ inputTokens: 5 })
    yield 'two'
    return
  }
  if (word === 'spell') {
    yield* run.text.slice(word.length + 1).match(/.{1,5}/gs) ?? []
    return
  }
  if (word === 'fail') throw new Error('meant')
  if (word === 'wait') {
    run.update('Waiting')
    await new Promise((_, reject) => {
      run.signal.addEventListener('abort', () => reject(run.signal.reason as Error))
    })
  }
  run.update(`Working ${HOSTILE}`)
  yield 'one '
  yield `${HOSTILE}two `
  yield `for ${run.principal?.id ?? 'all'}`
}

async function listen(listenerOf: (url: string) => RequestListener): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  server.on('request', listenerOf(url))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return url
}

/**
 * An agent whose texts are hostile. With `token`, it knows only callers with this bearer token. With
 * `holdsCancel`, it does not answer those who cancel. With `asksOnly`, each task asks for an approval. Unless `isShared`, it lists tasks of one context only.
 */
export function serveAgent({
  token,
  holdsCancel = false,
  isShared = true,
  asksOnly = false,
}: { token?: string; holdsCancel?: boolean; isShared?: boolean; asksOnly?: boolean } = {}): Promise<string> {
  return listen((url) => {
    const { fetch } = createRequestHandler({
      card: { name: `Hostile ${HOSTILE}`, description: HOSTILE, url },
      ...(isShared && { anonymous: 'shared' }),
      onError: () => undefined,
      execute: asksOnly ? (run) => run.approve('book', { message: 'Book?' }) : execute,
      ...(token !== undefined && {
        authenticate: (request: Request) =>
          request.headers.get('authorization') === `Bearer ${token}` ? { id: 'ada' } : null,
      }),
    })
    return toNodeListener(async (request) => {
      // The body is read by the handler, too.
      const text = holdsCancel ? await request.clone().text() : ''
      return text.includes('CancelTask') ? await new Promise<Response>(() => undefined) : await fetch(request)
    })
  })
}

/** Responds to each path as it says: `/html`, `/401`, … */
export function serveOthers(): Promise<string> {
  return listen(() => (request, response) => {
    const [, path = ''] = request.url?.split('/') ?? []
    if (/^\d+$/.test(path)) response.writeHead(Number(path)).end()
    else if (path === 'html') response.setHeader('content-type', 'text/html').end(`<html>${HOSTILE}</html>`)
    else response.setHeader('content-type', 'application/json').end('{}')
  })
}

/** Serves a card, and errors, that repeat the credentials of their request without the scheme. */
export function serveEcho(): Promise<string> {
  return listen((url) => (request, response) => {
    const token = (request.headers.authorization ?? '').replace(/^\w+ /, '')
    response.setHeader('content-type', 'application/json')
    if (request.url?.endsWith('agent-card.json') === true) {
      const card = { name: `Echo of ${token}`, description: 'd', version: '1', capabilities: {}, skills: [] }
      const modes = { defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] }
      const supportedInterfaces = [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
      response.end(JSON.stringify({ ...card, ...modes, supportedInterfaces }))
      return
    }
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32_000, message: `No ${token}` } }))
  })
}

/** Serves a card that names `target`, an interface at another origin. */
export function serveCardOf(target: string): Promise<string> {
  return listen(() => (_, response) => {
    const card = { name: 'Elsewhere', description: 'd', version: '1', capabilities: {}, skills: [] }
    const modes = { defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] }
    const supportedInterfaces = [{ url: target, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ ...card, ...modes, supportedInterfaces }))
  })
}

/** Serves nothing, and keeps the headers of each request. */
export async function serveListener(): Promise<{ readonly url: string; readonly heard: string[] }> {
  const heard: string[] = []
  const url = await listen(() => (request, response) => {
    heard.push(JSON.stringify(request.headers))
    response.writeHead(401).end()
  })
  return { url, heard }
}

/** The URL of a server that has ended. */
export async function closedUrl(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}
