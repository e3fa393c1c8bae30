/** The network: requests and responses take their time, are lost, and streams are cut. */
import type { RequestHandler } from 'a2a-tasks/server'
import type { Schedule, Decisions } from './schedule.js'
import type { Owner, World } from './world.js'

type Fetch = (url: string, init?: RequestInit) => Promise<Response>

export interface Network {
  readonly world: World
  readonly decisions: Decisions
  readonly schedule: Schedule
}

/** After this time, in ms, a client takes a request for lost. */
export const TIMEOUT_MS = 3_000

/** How `owner` reaches an agent. */
export function fetchOf(network: Network, owner: Owner, agent: () => Pick<RequestHandler, 'fetch'>): Fetch {
  const { world, decisions, schedule } = network
  const where = `${owner.name} to agent`
  const travel = (what: string, then: () => void): void => {
    world.after(decisions.delay(where, schedule.networkMs), what, then, owner)
  }
  return (url, init) =>
    new Promise((resolve, reject) => {
      const fail = (): void => {
        world.after(TIMEOUT_MS, 'no response', () => reject(new TypeError('fetch failed')), owner)
      }
      travel('request', () => {
        if (decisions.fails('network', `${where} request`)) {
          fail()
          return
        }
        agent()
          .fetch(new Request(url, init))
          .then((response) => {
            if (decisions.fails('network', `${where} response`)) fail()
            else travel('response', () => resolve(withSlowBody(network, owner, where, response)))
          }, reject)
      })
    })
}

/** The response whose stream arrives in pieces, and may end in the middle. */
function withSlowBody(
  { world, decisions, schedule }: Network,
  owner: Owner,
  where: string,
  response: Response,
): Response {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  if (!isStream || response.body === null) return response
  // The body of a response of the library is of bytes.
  const reader = response.body.getReader() as ReadableStreamDefaultReader<Uint8Array>
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read()
      if (done) {
        controller.close()
        return
      }
      await world.pause(decisions.delay(where, schedule.networkMs), owner)
      if (decisions.fails('network', `${where} stream`)) {
        void reader.cancel()
        controller.error(new TypeError('terminated'))
      } else controller.enqueue(value)
    },
    cancel: () => reader.cancel(),
  })
  return new Response(body, { status: response.status, headers: response.headers })
}
