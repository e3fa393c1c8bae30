import type { Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { connect, LINES, say, taskOf, textOf } from './peers.js'
import { collect, serve, spyFetch, type Options } from './support/agent.js'

const preview = { generation: true }

/** A card that lists 1.1, and before everything else. */
const listing: Pick<Options<never>, 'card'> = {
  card: (url) => ({
    supportedInterfaces: ['1.1', '1.0', '0.3'].flatMap((protocolVersion) =>
      ['JSONRPC', 'HTTP+JSON'].map((protocolBinding) => ({ url, protocolBinding, protocolVersion })),
    ),
  }),
}

describe.each(LINES)('SDK $sdk, $speaks, $binding, and an agent that knows the draft of 1.1', (line) => {
  test.each([
    ['does not list it', {}],
    ['lists it first', listing],
  ] as const)('which %s: they speak as they did', async (_, card) => {
    const { url } = await serve({ ...card, preview, execute: (run: Run) => run.text })
    const { fetchImpl, responses } = spyFetch()
    const peer = await connect(line, url, fetchImpl)
    expect(peer.protocol).toBe(`${line.binding} ${line.speaks}`)
    const task = taskOf(await peer.send(say('hello')))
    expect(textOf(task.artifacts?.[0]?.parts)).toBe('hello')
    expect((await collect(peer.stream(say('again')))).length).toBeGreaterThan(1)
    expect((await peer.get(task.id)).id).toBe(task.id)
    expect(responses.map(({ status }) => status)).not.toContain(400)
  })
})
