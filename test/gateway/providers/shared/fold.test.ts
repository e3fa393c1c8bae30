import { describe, expect, it } from 'vitest'
import type { TaskUpdate } from '../../../../src/gateway/provider.js'
import { fold } from '../../../../src/gateway/providers/shared/fold.js'
import { cpuMs } from '../../../support/cpu-time.js'

async function* repeated(times: number, ...updates: TaskUpdate[]): AsyncGenerator<TaskUpdate, undefined> {
  for (let time = 0; time < times; time += 1) yield* await Promise.resolve(updates)
}

describe('many updates as one', () => {
  it('have texts that continue, parts that do not, and of a whole artifact the last', async () => {
    const whole = { artifactId: 'b', name: 'B', parts: [{ text: 'old' }] }
    const cited = { text: 'c', metadata: { page: 1 } }
    const folded = await fold(
      repeated(
        1,
        { state: 'working', message: 'Begun', artifacts: [whole] },
        { chunk: { artifactId: 'a', parts: [{ text: 'a' }] } },
        { chunk: { artifactId: 'a', parts: [{ text: 'b' }, cited, { text: 'd' }] } },
        { artifacts: [{ ...whole, parts: [{ text: 'new' }] }] },
        { chunk: { artifactId: 'b', parts: [{ text: 'er' }] }, state: 'completed' },
      ),
    )
    expect(folded).toEqual({
      state: 'completed',
      artifacts: [
        { artifactId: 'b', name: 'B', parts: [{ text: 'newer' }] },
        { artifactId: 'a', parts: [{ text: 'ab' }, cited, { text: 'd' }] },
      ],
    })
    expect(whole.parts).toEqual([{ text: 'old' }])
  })

  it('may be very many that do not continue', async () => {
    const chunk = { artifactId: 'a', parts: [{ text: 'x', metadata: {} }] }
    const taken = await cpuMs(async () => {
      const { artifacts } = await fold(repeated(100_000, { chunk }))
      expect(artifacts?.[0]?.parts).toHaveLength(100_000)
    })
    expect(taken).toBeLessThan(3_000)
  })

  it.each<[name: string, update: TaskUpdate]>([
    ['chunks', { chunk: { artifactId: 'a', parts: [{ text: 'x'.repeat(1_000_000) }] } }],
    ['artifacts', { artifacts: [{ parts: [{ text: 'x'.repeat(1_000_000) }] }] }],
  ])('are refused when there is no end of %s', async (_name, update) => {
    await expect(fold(repeated(100, update))).rejects.toMatchObject({
      code: 'LIMIT_EXCEEDED',
      data: { limit: 'maxArtifactsSize', max: 67_108_864 },
    })
  })

  it('may contain one artifact again and again', async () => {
    const artifact = { artifactId: 'a', parts: [{ text: 'x'.repeat(1_000_000) }] }
    expect(await fold(repeated(100, { artifacts: [artifact] }))).toEqual({ artifacts: [artifact] })
  })
})
