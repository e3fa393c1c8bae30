/** This library's own handler, in memory. */
import { fakeAgent } from 'a2a-tasks/testing'
import type { Run } from 'a2a-tasks/server'
import { onTestFinished } from 'vitest'
import type { Act, Agent } from './agents.js'
import {
  cardOf,
  type Binding,
  type Peer,
  type Seen,
  type ServeOptions,
  type Version,
} from './support/agent.js'

const URL = 'https://agent.test'

export function ownPeer(version: Version, binding: Binding): Peer {
  return {
    name: `a2a-tasks, A2A ${version} over ${binding}`,
    version,
    binding,
    async serve(options) {
      const { capabilities, supportedInterfaces, ...card } = cardOf(options, URL, binding, version)
      const agent = fakeAgent((run) => work(options.agent, run), {
        card: { ...card, capabilities: { ...capabilities, pushNotifications: false }, supportedInterfaces },
        checkInputModes: options.checkModes ?? false,
        ...accessOf(options, card.name),
      })
      onTestFinished(() => agent.close())
      const answer = await agent.fetch(`${URL}/.well-known/agent-card.json`)
      const seen: Seen[] = []
      const fetch = async (url: string, init?: RequestInit): Promise<Response> => {
        const request = new Request(url, init)
        const headers = Object.fromEntries(request.headers)
        seen.push({ method: request.method, path: new globalThis.URL(url).pathname, headers })
        return await agent.fetch(url, init)
      }
      return { card: await answer.json(), url: URL, fetch, seen }
    },
  }
}

function accessOf({ token, extended }: ServeOptions, name: string) {
  const needsUser = token !== undefined || typeof extended === 'string'
  return {
    ...(needsUser && {
      authenticate: ({ headers }: Request) =>
        token === undefined || headers.get('authorization') === `Bearer ${token}` ? { id: 'user-1' } : null,
    }),
    ...(typeof extended === 'string' && { extendedCard: { name, url: URL, description: extended } }),
  }
}

async function work(agent: Agent, run: Run): Promise<void> {
  const { message, text, messages, referenceTasks, extensions, tenant = '', signal } = run
  const { messageId, parts, metadata } = message
  const stopped = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve())
  })
  const turn = {
    ...{ messageId, text, metadata, requested: run.metadata, extensions, tenant, stopped },
    // Frozen, they are parts none the less.
    parts: parts as never,
    references: referenceTasks.map(({ id }) => id),
    isFollowUp: messages.length > 1,
  }
  for await (const act of agent(turn)) await perform(run, act)
}

async function perform(run: Run, act: Act): Promise<void> {
  if ('reply' in act) {
    await run.reply({ parts: [...act.reply] })
    return
  }
  run.start()
  if ('artifact' in act) {
    const { artifact, append = false, lastChunk = false } = act
    run.artifact(artifact, { append, lastChunk })
    return
  }
  const { status, text } = act
  if (status === 'working' && text !== undefined) run.update(text)
  if (status === 'completed') run.complete(text)
  if (status === 'failed') run.fail(text)
  if (status === 'rejected') run.reject(text)
  // The turn is over: the answer begins another.
  if (status === 'input-required') run.requireInput(text ?? '').catch(() => undefined)
  if (status === 'auth-required') run.requireAuth(text ?? '').catch(() => undefined)
}
