import { describe, expect, test } from 'vitest'
import { HandleSeal, isHandle, type HandleContents } from '../../../src/gateway/turns/handle.js'
import { codeOf } from '../support/gateway.js'

const SECRET = 'a secret of thirty-two characters'
const OTHER = 'another secret of thirty-two chars'
const CONTENTS: HandleContents = {
  taskId: 'task-1',
  contextId: 'talk',
  agentId: 'weather-agent',
  provider: 'langgraph',
  ref: { thread_id: 'ü', run: [1, null] },
  owner: 'ada',
}

describe('a handle', () => {
  test('gives back what it was made of, wherever the secret is the same', async () => {
    const handle = await new HandleSeal([SECRET]).seal(CONTENTS)
    expect(isHandle(handle)).toBe(true)
    expect(handle).toMatch(/^a2ah1\.[\w-]+$/)
    expect(await new HandleSeal([SECRET]).open(handle)).toEqual(CONTENTS)
  })

  test('is another one each time, and reveals nothing', async () => {
    const seal = new HandleSeal([SECRET])
    const handles = [await seal.seal(CONTENTS), await seal.seal(CONTENTS)]
    expect(new Set(handles).size).toBe(2)
    for (const handle of handles) {
      const shown = handle + Buffer.from(handle.slice(6), 'base64url').toString('latin1')
      for (const part of ['weather', 'task-1', 'talk', 'langgraph', 'thread', 'ada'])
        expect(shown).not.toContain(part)
    }
  })

  test('of another secret is not known', async () => {
    const handle = await new HandleSeal([OTHER]).seal(CONTENTS)
    expect(await codeOf(new HandleSeal([SECRET]).open(handle))).toBe('TASK_NOT_FOUND')
    const random = new HandleSeal([])
    expect(await random.open(await random.seal(CONTENTS))).toEqual(CONTENTS)
    expect(await codeOf(new HandleSeal([]).open(await random.seal(CONTENTS)))).toBe('TASK_NOT_FOUND')
  })

  test('outlives its secret as long as that is among those that open', async () => {
    const old = await new HandleSeal([SECRET]).seal(CONTENTS)
    const rotated = new HandleSeal([OTHER, SECRET])
    expect(await rotated.open(old)).toEqual(CONTENTS)
    const handle = await rotated.seal(CONTENTS)
    expect(await new HandleSeal([OTHER]).open(handle)).toEqual(CONTENTS)
    expect(await codeOf(new HandleSeal([SECRET]).open(handle))).toBe('TASK_NOT_FOUND')
  })

  test('that was changed anywhere is not known', async () => {
    const seal = new HandleSeal([SECRET])
    const handle = await seal.seal(CONTENTS)
    for (let at = 0; at < handle.length; at += 1) {
      const others = at < 6 ? ['x'] : ['A', 'B', '_', '.', '=', ' ']
      for (const char of others.filter((other) => other !== handle[at])) {
        const changed = handle.slice(0, at) + char + handle.slice(at + 1)
        expect([changed, await codeOf(seal.open(changed))]).toEqual([changed, 'TASK_NOT_FOUND'])
      }
    }
    const bytes = Buffer.from(handle.slice(6), 'base64url')
    for (const [at, byte] of bytes.entries()) {
      const flipped = Buffer.from(bytes)
      flipped[at] = byte ^ 1
      expect(await codeOf(seal.open(`a2ah1.${flipped.toString('base64url')}`))).toBe('TASK_NOT_FOUND')
    }
  })

  test.each([
    'a2ah1.',
    'a2ah1.AAAA',
    'a2ah1.A',
    '',
    'task-1',
    `a2ah1.${'A'.repeat(20)}`,
    `a2ah1.${'A'.repeat(1e6)}`,
  ])('that is malformed is not known: %.20s', async (text) => {
    expect(await codeOf(new HandleSeal([SECRET]).open(text))).toBe('TASK_NOT_FOUND')
  })

  test('has one spelling, however long it is', async () => {
    const seal = new HandleSeal([SECRET])
    for (const taskId of ['t', 'ta', 'tas']) {
      const handle = await seal.seal({ ...CONTENTS, taskId })
      const bytes = Buffer.from(handle.slice(6), 'base64url')
      for (const last of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_') {
        const other = handle.slice(0, -1) + last
        // What differs in bits that mean nothing only holds the same bytes.
        if (other === handle || !Buffer.from(other.slice(6), 'base64url').equals(bytes)) continue
        expect(await codeOf(seal.open(other))).toBe('TASK_NOT_FOUND')
      }
    }
  })

  test.each([
    ['cut', (handle: string) => handle.slice(0, -1)],
    ['longer', (handle: string) => `${handle}A`],
    ['padded', (handle: string) => `${handle}=`],
  ])('that is %s is not known', async (_, change) => {
    const seal = new HandleSeal([SECRET])
    expect(await codeOf(seal.open(change(await seal.seal(CONTENTS))))).toBe('TASK_NOT_FOUND')
  })

  test('is sealed by no short secret', () => {
    for (const secrets of [[''], ['x'.repeat(31)], [SECRET, 'short']]) {
      expect(() => new HandleSeal(secrets)).toThrow(
        new RangeError('"handleSecret" must have at least 32 characters'),
      )
    }
  })
})
