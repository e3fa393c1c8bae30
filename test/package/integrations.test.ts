/**
 * The applications of examples/ whose runtime is too heavy for `npm install`, by the functions that they export. Tests
 * in test/services run them in Next.js and in workerd.
 */
import { describe, expect, it } from 'vitest'
import { A2AClient } from 'a2a-tasks/client'
import { DELETE, GET, POST } from '../../examples/nextjs/app/agent/[[...path]]/route.js'
import workers, { Agent } from '../../examples/workers/worker.js'

describe('examples/nextjs', () => {
  const url = 'http://localhost:3000/agent'
  const routes = new Map(Object.entries({ GET, POST, DELETE }))

  it('serves the agent by the functions of its route', async () => {
    const methods: string[] = []
    const agent = await A2AClient.connect(url, {
      fetch: async (to: string, init?: RequestInit) => {
        const request = new Request(to, init)
        methods.push(request.method)
        return (await routes.get(request.method)?.(request)) ?? new Response(null, { status: 405 })
      },
    })
    const { type, text } = await agent.run('hello')
    expect([type, text]).toEqual(['completed', 'You said: hello'])
    expect(new Set(methods)).toEqual(new Set(['GET', 'POST']))
  })

  it('passes on DELETE, which removes webhooks', async () => {
    const response = await DELETE(
      new Request(`${url}/tasks/a/pushNotificationConfigs/b`, { method: 'DELETE' }),
    )
    // It has none, and says so.
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringMatching(/push/i) as string },
    })
  })
})

describe('examples/workers', () => {
  const url = 'https://agent.example'

  /** The storage of one object, and as many objects over it as there are evictions. */
  function namespace() {
    const storage = new Map<string, unknown>()
    const pending = new Set<Promise<unknown>>()
    let loaded = Promise.resolve()
    const create = (): Agent =>
      new Agent(
        {
          storage: {
            list: ({ prefix }) =>
              Promise.resolve(new Map([...storage].filter(([key]) => key.startsWith(prefix)))),
            put: (key, value) => Promise.resolve(void storage.set(key, structuredClone(value))),
            delete: (key) => Promise.resolve(storage.delete(key)),
          },
          blockConcurrencyWhile: (load) => (loaded = load()),
          waitUntil: (work) => {
            pending.add(work)
            void work.finally(() => pending.delete(work))
          },
        },
        env,
      )
    const env = {
      AGENT_URL: url,
      AGENT: {
        getByName: () => ({
          fetch: async (request: Request) => {
            await loaded
            return object.fetch(request)
          },
        }),
      },
    }
    let object = create()
    const evict = () => void (object = create())
    const fetch = (to: string, init?: RequestInit) => workers.fetch(new Request(to, init), env)
    return { fetch, evict, pending }
  }

  it('keeps its tasks when the object is evicted', async () => {
    const { fetch, evict, pending } = namespace()
    const agent = await A2AClient.connect(url, { fetch })
    const asked = await agent.run('Good morning')
    if (asked.type !== 'input-required') throw new Error(asked.text)
    expect(asked.text).toBe('What is your name?')
    // An object that waits for the user may leave the memory.
    expect(pending).toEqual(new Set())
    evict()
    const answered = await agent.run({ parts: [{ text: 'Ada' }], taskId: asked.task.id })
    expect(answered).toMatchObject({ type: 'completed', text: 'Hello Ada', task: { id: asked.task.id } })
  })
})
