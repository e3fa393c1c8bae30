import { parseAgentCard, signAgentCard, verifyAgentCard, type FetchKeys } from 'a2a-tasks/agent-card'
import type { AgentCard } from 'a2a-tasks/schemas'
import { execFileSync } from 'node:child_process'
import { describe, expect, test, vi } from 'vitest'
import { ROOT } from '../support/repository.js'
import { pair, plainCard, rejected } from './support/sign.js'

const ada = await pair('ada')
const bob = await pair('bob')
const URL_OF_KEYS = 'https://ada.example/keys.json'
const signed = await signAgentCard(plainCard, { key: ada.privateKey, jku: URL_OF_KEYS })
const keys = [ada.publicKey]
const never = new Promise<never>(() => undefined)

/** As untyped code calls it. */
const verify = (options: unknown) => rejected(() => verifyAgentCard(signed, options as never))
const sign = (options: unknown) => rejected(() => signAgentCard(plainCard, options as never))

/** The error about the option, or about all `options`. */
const misuse = (name: string): object => ({
  name: expect.stringMatching(name === 'timeoutMs' ? /^RangeError$/ : /^TypeError$/) as unknown,
  message: expect.stringMatching(
    name === 'options'
      ? /^The options of (sign|verify)AgentCard must be an object, got /
      : `^"${name}" must be `,
  ) as unknown,
})

describe('unknown options', () => {
  test.each(['algorithm', 'isRevokd', '__proto', 'constructor'])('%s is refused', async (name) => {
    for (const error of [
      await verify({ keys, [name]: undefined }),
      await sign({ key: ada.privateKey, [name]: undefined }),
    ]) {
      expect(error).toBeInstanceOf(TypeError)
      expect(String(error)).toContain(`Unknown option "${name}" of`)
    }
  })

  test('the error names those that there are', async () => {
    expect(String(await sign({ key: ada.privateKey, algorithm: 'ES256' }))).toBe(
      'TypeError: Unknown option "algorithm" of signAgentCard; known are key, kid, alg, jku, exact',
    )
    expect(String(await verify({ keys, algorithm: ['ES256'] }))).toContain(
      'known are keys, getKey, allowedJku, algorithms, isRevoked, exact, fetch, timeoutMs, now',
    )
  })
})

test.each([
  ['options', undefined],
  ['options', null],
  ['keys', { keys: 'ada' }],
  ['keys', { keys: 5 }],
  ['keys', { keys: {} }],
  ['keys', { keys: { keys: {} } }],
  ['keys', { keys: [null] }],
  ['keys', { keys: ['-----BEGIN PUBLIC KEY-----'] }],
  ['getKey', { getKey: ada.publicKey }],
  ['allowedJku', { allowedJku: URL_OF_KEYS }],
  ['algorithms', { keys, algorithms: 'ES256 HS256' }],
  ['isRevoked', { keys, isRevoked: ['ada'] }],
  ['exact', { keys, exact: 'yes' }],
  ['fetch', { keys, fetch: 'https://' }],
  ['timeoutMs', { keys, timeoutMs: Infinity }],
  ['timeoutMs', { keys, timeoutMs: 0 }],
  ['now', { keys, now: 0 }],
])('%s of another type is refused', async (name, options) => {
  expect(await verify(options)).toMatchObject(misuse(name))
})

test.each([
  ['options', 'ES256'],
  ['key', { key: 'secret' }],
  ['kid', { key: ada.privateKey, kid: 5 }],
  ['alg', { key: ada.privateKey, alg: ['ES256'] }],
  ['jku', { key: ada.privateKey, jku: new URL(URL_OF_KEYS) }],
  ['exact', { key: ada.privateKey, exact: 1 }],
])('%s of another type is refused, to sign, too', async (name, options) => {
  expect(await sign(options)).toMatchObject(misuse(name))
})

describe('what a card can make its reader do', () => {
  test('a key set that many signatures name is fetched once for each card', async () => {
    const others: AgentCard[] = []
    for (const kid of ['x', 'y', 'z']) {
      others.push(await signAgentCard(plainCard, { key: bob.privateKey, kid, jku: URL_OF_KEYS }))
    }
    const signatures = [...others, signed].flatMap((card) => card.signatures ?? [])
    const set = JSON.stringify({ keys })
    const fetch = vi.fn<FetchKeys>(() => Promise.resolve(new Response(set)))
    const options = { allowedJku: [URL_OF_KEYS], fetch }
    expect(await verifyAgentCard({ ...plainCard, signatures }, options)).toMatchObject({ kid: 'ada' })
    expect(fetch).toHaveBeenCalledTimes(1)
    await verifyAgentCard(signed, options)
    expect(fetch).toHaveBeenCalledTimes(2)
  })

  test('a key set that cannot be fetched is requested once, too', async () => {
    const signatures = [...(signed.signatures ?? []), ...(signed.signatures ?? [])]
    const fetch = vi.fn<FetchKeys>(() => Promise.reject(new TypeError('fetch failed')))
    const run = () => verifyAgentCard({ ...plainCard, signatures }, { allowedJku: [URL_OF_KEYS], fetch })
    expect(String(await rejected(run))).toMatch(/\[0\]: fetch failed; .*\[1\]: fetch failed/)
    expect(fetch).toHaveBeenCalledTimes(1)
  })

  test.each([
    ['getKey', { getKey: () => never }],
    ['isRevoked', { keys, isRevoked: () => never }],
  ])('%s is waited for no longer than timeoutMs', async (_, options) => {
    const error = await verify({ ...options, timeoutMs: 10 })
    expect(error).toMatchObject({ code: 'SIGNATURE_INVALID' })
    expect(String(error)).toContain('no answer within 10 ms')
  })

  test('a process that waits for a key does not end before it has an answer', () => {
    const program = `import { verifyAgentCard } from 'a2a-tasks/agent-card'
      const getKey = () => new Promise(() => undefined)
      verifyAgentCard(${JSON.stringify(signed)}, { getKey, timeoutMs: 50 }).catch((error) => process.stdout.write(error.code))`
    const args = ['--input-type=module', '--eval', program]
    expect(String(execFileSync(process.execPath, args, { cwd: ROOT }))).toBe('SIGNATURE_INVALID')
  })
})

test('URLs of more than 2,048 characters are no interfaces: each request goes through the whole of its URL', () => {
  const path = (length: number): string => `https://ada.example/${'/'.repeat(length - 21)}x`
  const cards = (url: string): object[] => [
    { ...plainCard, supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] },
    { name: 'Old', url },
  ]
  for (const card of cards(path(2048))) expect(() => parseAgentCard(card)).not.toThrow()
  for (const card of cards(path(2049))) {
    expect(() => parseAgentCard(card)).toThrow(
      'card.supportedInterfaces[0].url must be at most 2048 characters',
    )
  }
})
