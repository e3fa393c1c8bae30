/** One request to a process: by `dispatch`, or over HTTP as real clients send it. */
import type { RequestHandler } from 'a2a-tasks/server'
import { USER, type Replica } from './replica.js'

type Called = Awaited<ReturnType<RequestHandler['dispatch']>>
type Json = Exclude<Called, AsyncIterableIterator<unknown>>

export async function call({ handler }: Replica, body: object, overHttp: boolean): Promise<Called> {
  if (!overHttp) return await handler.dispatch(body, { principal: USER })
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
  const response = await handler.fetch(
    new Request('https://simulated.test', { method: 'POST', headers, body: JSON.stringify(body) }),
  )
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  if (isStream && response.body !== null) return eventsOf(response.body as ReadableStream<Uint8Array>)
  // The handler answers JSON-RPC with JSON.
  return (await response.json()) as Json
}

async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Json> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of body) {
    text += decoder.decode(bytes, { stream: true })
    const events = text.split('\n\n')
    text = events.pop() ?? ''
    for (const event of events) {
      const data = event.split('\n').flatMap((line) => (line.startsWith('data:') ? [line.slice(5)] : []))
      if (data.length > 0) yield JSON.parse(data.join('\n')) as Json
    }
  }
}
