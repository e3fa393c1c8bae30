/** Agents of this library for the checks of `../run.mjs` and the exchanges of `../exchanges`, the same on every runtime. */

import { corvid, kaos, litellm, v0_1 } from 'a2a-tasks/compat'
import { createRequestHandler } from 'a2a-tasks/server'
import { v0_3, v1 } from 'a2a-tasks/wire'

/** An agent for all callers, and one below `/locked` that knows its callers. Their URLs count by their paths only. */
export function createAgents(url = 'https://agent.example') {
  const dialects = [v1(), v0_3(), v0_1(), kaos({ routes: false }), corvid(), litellm()]
  const shared = { dialects, execute, onError, push: NO_PUSH }
  const open = createRequestHandler({ card: { name: 'Echo', url }, anonymous: 'shared', ...shared })
  const locked = createRequestHandler({
    card: { name: 'Locked', url: `${url}/locked` },
    authenticate,
    ...shared,
  })
  /** The `fetch` of the agent that a URL, or a path, is of. */
  const fetchFor = (path) => (new URL(path, url).pathname.startsWith('/locked') ? locked : open).fetch
  return { fetchFor, fetch: (request) => fetchFor(request.url)(request) }
}

/** Webhooks are registered, but no request leaves the process. */
const NO_PUSH = { resolve: false, fetch: () => Promise.resolve(new Response()) }

/** A caller is who the bearer token says. */
function authenticate(request) {
  const [, id] = /^Bearer (\w+)$/.exec(request.headers.get('authorization') ?? '') ?? []
  return id === undefined ? null : { id }
}

/** What `fail` throws is meant. */
function onError(error) {
  if (error !== SECRET) console.error(error)
}

function execute(run) {
  return (ANSWERS[run.text.split(' ')[0]] ?? echo)(run)
}

const SECRET = new Error('secret')

const echo = async (run) => `You said: ${run.text}`

const ANSWERS = {
  async *stream() {
    yield* ['one ', 'two ', 'three']
  },
  async ask(run) {
    const { parts } = await run.requireInput('What is your name?')
    return `Hello ${parts[0].text}`
  },
  /** Ends in a later turn of the event loop, when the response with the state `working` is made. */
  async later(run) {
    run.start()
    await new Promise((resolve) => setTimeout(resolve))
    return 'It is done'
  },
  async wait(run) {
    run.start()
    return await new Promise((_, reject) => {
      run.signal.addEventListener('abort', () => reject(run.signal.reason))
    })
  },
  reply(run) {
    run.reply('Hello')
  },
  fail() {
    throw SECRET
  },
}
