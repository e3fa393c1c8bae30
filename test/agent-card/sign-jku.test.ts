import { signAgentCard, verifyAgentCard, type FetchKeys, type VerifyOptions } from 'a2a-tasks/agent-card'
import { describe, expect, test, vi } from 'vitest'
import { pair, plainCard, rejected } from './support/sign.js'

const ada = await pair('ada')
const URL_OF_KEYS = 'https://ada.example/.well-known/jwks.json'
const set = JSON.stringify({ keys: [{ ...ada.publicKey, kid: 'other' }, null, ada.publicKey] })

function serving(body: string | ReadableStream | null, init?: ResponseInit) {
  return vi.fn<FetchKeys>(() => Promise.resolve(new Response(body, init)))
}

async function signedAt(jku: string) {
  return signAgentCard(plainCard, { key: ada.privateKey, jku })
}

async function reasonOf(jku: string, options: VerifyOptions): Promise<string> {
  const error = await rejected(async () => verifyAgentCard(await signedAt(jku), options))
  expect(error).toMatchObject({ code: 'SIGNATURE_INVALID' })
  return (error as { data: { reason: string } }).data.reason
}

describe('143. keys at a `jku`', () => {
  test.each([
    [URL_OF_KEYS, URL_OF_KEYS],
    [URL_OF_KEYS, 'https://ada.example'],
    [URL_OF_KEYS, 'https://ADA.example/'],
    [URL_OF_KEYS, 'https://ada.example:443'],
    ['http://localhost:3000/k', 'http://localhost:3000'],
  ])('%s are fetched where %s is allowed', async (jku, allowed) => {
    const fetch = serving(set)
    const options = { allowedJku: ['https://other.example', allowed], fetch }
    expect(await verifyAgentCard(await signedAt(jku), options)).toMatchObject({ kid: 'ada', jku })
    expect(fetch).toHaveBeenCalledTimes(1)
    expect(fetch.mock.calls[0]?.[0]).toBe(jku)
    expect(fetch.mock.calls[0]?.[1]).toMatchObject({ redirect: 'manual' })
  })

  test.each([
    [URL_OF_KEYS, []],
    [URL_OF_KEYS, ['https://ada.example/.well-known/']],
    [URL_OF_KEYS, ['https://ada.example/.well-known/jwks.json?x']],
    [URL_OF_KEYS, ['http://ada.example', 'https://ada.example:8443', 'ada.example', '*', '']],
    ['https://ada.example.evil.example/k', ['https://ada.example']],
    ['https://ada.example@evil.example/k', ['https://ada.example']],
    ['https://user:word@ada.example/k', ['https://ada.example']],
    ['https://user@ada.example/k', ['https://ada.example']],
    ['https://:word@ada.example/k', ['https://ada.example']],
    ['http://169.254.169.254/latest', ['https://ada.example']],
    ['data:application/json,{}', ['data:application/json,{}', 'https://ada.example']],
    ['file:///etc/passwd', ['file:///']],
    ['/keys.json', ['https://ada.example']],
  ])('%s is not fetched where %j is allowed', async (jku, allowedJku) => {
    const fetch = serving(set)
    expect(await reasonOf(jku, { allowedJku, fetch })).toContain('jku is not allowed')
    expect(fetch).not.toHaveBeenCalled()
  })

  test('143. is not fetched for a key that is known', async () => {
    const fetch = serving(set)
    const allowedJku = [URL_OF_KEYS]
    await verifyAgentCard(await signedAt(URL_OF_KEYS), { keys: [ada.publicKey], allowedJku, fetch })
    await verifyAgentCard(await signedAt(URL_OF_KEYS), { getKey: () => ada.publicKey, allowedJku, fetch })
    const keys = [{ ...ada.publicKey, revoked: true }]
    expect(await reasonOf(URL_OF_KEYS, { keys, allowedJku, fetch })).toContain('revoked')
    expect(fetch).not.toHaveBeenCalled()
  })

  test.each([
    ['a redirect', serving(null, { status: 302, headers: { location: 'http://127.0.0.1/' } }), 'HTTP 302'],
    ['an error', serving(set, { status: 500 }), 'HTTP 500'],
    ['no JSON', serving('<html>'), 'JSON'],
    ['no key set', serving('[]'), 'no key set'],
    ['nothing', serving(null), 'JSON'],
    ['other keys', serving('{"keys":[]}'), 'not known'],
    ['too much', serving(`{"keys":[],"x":"${'x'.repeat(300_000)}"}`), 'more than 262144 bytes'],
    ['no connection', vi.fn<FetchKeys>(() => Promise.reject(new TypeError('fetch failed'))), 'fetch failed'],
  ])('%s is no key', async (_, fetch, fault) => {
    expect(await reasonOf(URL_OF_KEYS, { allowedJku: [URL_OF_KEYS], fetch })).toContain(fault)
  })

  test('an endless body is not read to its end', async () => {
    let isLeft = false
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
      cancel: () => {
        isLeft = true
      },
    })
    expect(await reasonOf(URL_OF_KEYS, { allowedJku: [URL_OF_KEYS], fetch: serving(body) })).toContain(
      'more than',
    )
    expect(isLeft).toBe(true)
  })

  test('a server that does not respond is waited for no longer than `timeoutMs`', async () => {
    const never = new Promise<never>(() => undefined)
    const silent = new ReadableStream({ pull: () => never })
    for (const fetch of [vi.fn<FetchKeys>(() => never), serving(silent)]) {
      const options = { allowedJku: [URL_OF_KEYS], fetch, timeoutMs: 10 }
      expect(await reasonOf(URL_OF_KEYS, options)).toContain('no answer within 10 ms')
    }
  })

  test('a symmetric key at a public URL proves nothing', async () => {
    const key = { kty: 'oct', kid: 'ada', k: Buffer.alloc(32, 7).toString('base64url'), alg: 'HS256' }
    const card = await signAgentCard(plainCard, { key, jku: URL_OF_KEYS })
    const options = { allowedJku: [URL_OF_KEYS], fetch: serving(JSON.stringify({ keys: [key] })) }
    const error = await rejected(() => verifyAgentCard(card, { ...options, algorithms: ['HS256'] }))
    expect(error).toMatchObject({ code: 'SIGNATURE_INVALID' })
  })
})

const missing = Object.assign(new Error("Cannot find package 'jose'"), { code: 'ERR_MODULE_NOT_FOUND' })
// What `import()` rejects with under Jest, for a package that is installed.
const inJest = Object.assign(new TypeError('A dynamic import callback was invoked without the flag'), {
  code: 'ERR_VM_DYNAMIC_IMPORT_CALLBACK_MISSING_FLAG',
})

test.each<[string, Error, RegExp]>([
  ['is not installed', missing, /need jose: npm install jose$/],
  ['is imported under Jest', inJest, /cannot import: set NODE_OPTIONS=--experimental-vm-modules$/],
  [
    'has a fault',
    new Error('Unexpected token'),
    /failed: Unexpected token\. If it is not installed: npm install/,
  ],
])('where jose %s, both say what to do', async (_, cause, advice) => {
  // The error of a factory would be wrapped.
  vi.doMock('jose', () => ({
    get then() {
      throw cause
    },
  }))
  for (const run of [
    () => signAgentCard(plainCard, { key: ada.privateKey }),
    () => verifyAgentCard(plainCard, { keys: [ada.publicKey] }),
  ]) {
    const error = await rejected(run)
    expect(error).toMatchObject({ code: 'UNSUPPORTED_OPERATION' })
    expect(String(error)).toMatch(advice)
  }
  vi.doUnmock('jose')
})
