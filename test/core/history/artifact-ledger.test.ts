/** Writes of steps to artifacts, tracked while the steps are open. */
import { expect, test } from 'vitest'
import { ArtifactLedger, type PlannedWrite } from '../../../src/core/history/artifact-ledger.js'
import { cpuMs } from '../../support/cpu-time.js'

let generation = 0

function add(ledger: ArtifactLedger, step: string | undefined, text: string, artifactId = 'a'): void {
  const artifact = { artifactId, parts: [{ text }] }
  const place = { taskId: 't', generation: (generation += 1), timestamp: '2026-01-01T00:00:00.000Z' }
  ledger.add({ type: 'artifact', artifact, append: true, lastChunk: false, step, ...place }, undefined)
}

const chunk: PlannedWrite = { artifact: { artifactId: 'a', parts: [{ text: '!' }] }, options: {} }

function planned(ledger: ArtifactLedger): unknown[] {
  return ledger
    .plan(chunk)
    .map(({ artifact, options }) => [artifact.parts?.map(({ text = '' }) => text).join(''), options?.step])
}

test('chunks that nothing can undo are one write, however many there are', () => {
  const ledger = new ArtifactLedger()
  add(ledger, 'first', '1')
  for (let count = 0; count < 1_000; count += 1) add(ledger, undefined, '.')
  // Steps that begin and end meanwhile.
  for (let count = 0; count < 1_000; count += 1) {
    add(ledger, `short ${count}`, ',')
    ledger.settle(`short ${count}`)
  }
  add(ledger, 'last', '2')
  ledger.undo('last')
  const [first, ...others] = planned(ledger)
  expect(first).toEqual(['1', 'first'])
  expect(others.at(-1)).toEqual(['!', undefined])
  expect(others.length).toBeLessThan(100)
  expect(others.map((write) => (write as string[])[0]).join('')).toBe(
    `${'.'.repeat(1_000)}${','.repeat(1_000)}!`,
  )
})

test('each step undoes its own writes, also after others have been joined and the artifact was set back', () => {
  const ledger = new ArtifactLedger()
  for (const text of ['a1', 'a2']) add(ledger, 'a', text)
  add(ledger, 'b', 'b1')
  add(ledger, undefined, 'c')
  ledger.undo('a')
  expect(planned(ledger)).toEqual([
    ['b1', 'b'],
    ['c', undefined],
    ['!', undefined],
  ])
  ledger.undo('b')
  expect(planned(ledger)).toEqual([
    ['c', undefined],
    ['!', undefined],
  ])
  ledger.settle('a')
  expect(ledger.settle('b')).toEqual(['a'])
})

test.each([
  ['one artifact', () => 'a'],
  ['an artifact each', (step: number) => `a${step}`],
])('thousands of parallel steps with %s cost no more each than a few', async (_, artifactOf) => {
  const play = (steps: number): void => {
    const ledger = new ArtifactLedger()
    for (let step = 0; step < steps; step += 1) {
      ledger.undo(`${step}`)
      add(ledger, `${step}`, 'x', artifactOf(step))
    }
    for (let step = 0; step < steps; step += 1) ledger.settle(`${step}`)
  }
  let least = Infinity
  for (let attempt = 0; attempt < 5 && least > 5; attempt += 1) {
    const few = await cpuMs(() => {
      for (let time = 0; time < 10; time += 1) play(2_000)
    })
    least = Math.min(least, (await cpuMs(() => play(20_000))) / few)
  }
  // It was 15 to 30 times as long.
  expect(least).toBeLessThan(6)
})
