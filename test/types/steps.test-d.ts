import type { Run, StepContext, StepOutput } from 'a2a-tasks/server'
import { expectTypeOf, test } from 'vitest'

declare const run: Run

interface Row {
  readonly id: number
  readonly next: string
  readonly throw: number
  readonly paidAt?: Date
  readonly tags: readonly Tag[]
}
interface Tag {
  name: string
  parent: Tag | undefined
}
declare const row: Row

test('a step returns what its work returns', () => {
  expectTypeOf(run.step('interface', () => row)).toEqualTypeOf<Promise<Row>>()
  expectTypeOf(run.step('rows', () => Promise.resolve([row]))).toEqualTypeOf<Promise<Row[]>>()
  expectTypeOf(run.step('void', () => {})).toEqualTypeOf<Promise<void>>()
  expectTypeOf(run.step('nothing', () => Promise.resolve())).toEqualTypeOf<Promise<void>>()
  expectTypeOf(run.step('maybe', () => [row].find(({ id }) => id > 1))).toEqualTypeOf<
    Promise<Row | undefined>
  >()
  expectTypeOf(run.step('bigint', () => BigInt(1))).toEqualTypeOf<Promise<bigint>>()
  expectTypeOf(run.step('date', () => new Date())).toEqualTypeOf<Promise<Date>>()
  expectTypeOf(run.step('buffer', () => Buffer.from(''))).toExtend<Promise<Buffer>>()
  expectTypeOf(run.step('set', () => new Set([new Map([[1, row]])]))).toEqualTypeOf<
    Promise<Set<Map<number, Row>>>
  >()
  expectTypeOf(
    run.step('values', () => ({ url: new URL('a:'), is: /a/, fault: new TypeError() })),
  ).toEqualTypeOf<Promise<{ url: URL; is: RegExp; fault: TypeError }>>()
  expectTypeOf(run.step('own', () => [new URL('a:'), new TypeError()] as const)).toEqualTypeOf<
    Promise<readonly [URL, TypeError]>
  >()
  expectTypeOf(run.step('URL', () => new URL('a:'))).toEqualTypeOf<Promise<URL>>()
  expectTypeOf(run.step('either', (): string | Promise<string> => 'a')).toEqualTypeOf<Promise<string>>()
  expectTypeOf(run.step<Row>('named', () => Promise.resolve(row))).toEqualTypeOf<Promise<Row>>()
  const text: Promise<string> = run.step('then', () => Promise.resolve(row).then(({ next }) => next))
  void text
})

test('a step returns what no type describes', () => {
  expectTypeOf(run.step('unknown', (): Promise<unknown> => Promise.resolve(1))).toEqualTypeOf<
    Promise<unknown>
  >()
  void run.step('body', async () => (await fetch('http://localhost')).json())
  expectTypeOf(run.step('record', (): Record<string, unknown> => ({}))).toEqualTypeOf<
    Promise<Record<string, unknown>>
  >()
  expectTypeOf(run.step('object', (): object => ({}))).toEqualTypeOf<Promise<object>>()
})

test('the work knows its step', () => {
  void run.step('typed', (step) => {
    expectTypeOf(step).toEqualTypeOf<StepContext>()
    return step.key
  })
})

test('a step within a function of any output', () => {
  const once = async <T extends StepOutput>(work: () => T | Promise<T>): Promise<T> =>
    await run.step('once', () => work())
  expectTypeOf(once(() => row)).toEqualTypeOf<Promise<Row>>()
  // @ts-expect-error: a function is no data
  void once(() => () => 1)
})

test('a step returns no function, symbol, promise, stream or instance', () => {
  // @ts-expect-error: it is no data
  void run.step('function', () => () => 1)
  // @ts-expect-error: it is no data
  void run.step('class', () => Map)
  // @ts-expect-error: it is no data
  void run.step('symbol', () => Symbol('a'))
  // @ts-expect-error: it is no data
  void run.step('response', () => fetch('http://localhost'))
  // @ts-expect-error: it is no data
  void run.step('stream', async () => (await fetch('http://localhost')).body)
  // @ts-expect-error: it is no data
  void run.step('blob', () => new Blob([]))
  // @ts-expect-error: it is no data
  void run.step('generator', function* () {
    yield 1
  })
  // @ts-expect-error: it is no data
  void run.step('generator', async function* () {
    yield await Promise.resolve(1)
  })
  // @ts-expect-error: it is no data
  void run.step('toJSON', () => ({ amount: 1, toJSON: () => '1' }))
  // @ts-expect-error: it is no data
  void run.step('thenable', () => ({ inner: 1, then: (): number => 1 }))
})
