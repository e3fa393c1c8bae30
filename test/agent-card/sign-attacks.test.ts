import { createHmac } from 'node:crypto'
import {
  canonicalizeAgentCard,
  signAgentCard,
  verifyAgentCard,
  type Jwk,
  type VerifyOptions,
} from 'a2a-tasks/agent-card'
import type { AgentCard, AgentCardSignature } from 'a2a-tasks/schemas'
import * as jose from 'jose'
import { describe, expect, test, vi } from 'vitest'
import { bearerCard, forge, pair, plainCard, rejected } from './support/sign.js'

const ada = await pair('ada')
const eve = await pair('eve')
const keys = [ada.publicKey]
const text = canonicalizeAgentCard(plainCard)
const signed = await signAgentCard(plainCard, { key: ada.privateKey })
const [signature = { protected: '', signature: '' }] = signed.signatures ?? []
const adaKey = await jose.importJWK(ada.privateKey)

const encode = (header: object): string => jose.base64url.encode(JSON.stringify(header))

function signedBy(...signatures: AgentCardSignature[]): AgentCard {
  return { ...plainCard, signatures }
}

async function reasonOf(card: unknown, options: VerifyOptions = { keys }): Promise<string> {
  const error = await rejected(() => verifyAgentCard(card, options))
  expect(error).toMatchObject({ code: 'SIGNATURE_INVALID' })
  return (error as { data: { reason: string } }).data.reason
}

test('143. a card that was changed after it was signed is refused', async () => {
  const [one] = plainCard.supportedInterfaces
  const changes: Partial<AgentCard>[] = [
    { name: 'Eve' },
    { version: '1.0.1' },
    { description: '' },
    { capabilities: {} },
    { capabilities: { streaming: false } },
    { supportedInterfaces: [...plainCard.supportedInterfaces].reverse() },
    {
      supportedInterfaces: [
        { url: 'https://eve.example', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      ],
    },
    { supportedInterfaces: plainCard.supportedInterfaces.map((each) => ({ ...each, tenant: 'eve' })) },
    { supportedInterfaces: [...plainCard.supportedInterfaces, ...(one === undefined ? [] : [one])] },
    { skills: [...plainCard.skills, { id: 'x', name: '', description: '', tags: ['x'] }] },
    { securitySchemes: { k: { apiKeySecurityScheme: { location: 'query', name: 'k' } } } },
  ]
  for (const change of changes) {
    expect(await reasonOf({ ...signed, ...change })).toContain('does not match')
  }
})

test('empty fields that were not signed are not returned', async () => {
  const securityRequirements = [{ schemes: { none: { list: [] } } }, {}]
  const { card } = await verifyAgentCard({ ...signed, securityRequirements, iconUrl: '' }, { keys })
  expect(card).toEqual(signed)
  await reasonOf({ ...signed, securityRequirements }, { keys, exact: true })
})

describe('a key', () => {
  test('with another value is refused, whatever its key id', async () => {
    expect(await reasonOf(await signAgentCard(plainCard, { key: eve.privateKey }))).toContain('is not known')
    const named = await signAgentCard(plainCard, { key: eve.privateKey, kid: 'ada' })
    expect(await reasonOf(named)).toContain('does not match')
    expect(await reasonOf(signed, { keys: [{ ...eve.publicKey, kid: 'ada' }] })).toContain('does not match')
  })

  test('that is listed twice is tried twice', async () => {
    const twice = [{ ...eve.publicKey, kid: 'ada' }, ada.publicKey]
    expect(await verifyAgentCard(signed, { keys: twice })).toMatchObject({ kid: 'ada' })
    // The one that is valid has expired: the other one does not help.
    const expired = [
      { ...eve.publicKey, kid: 'ada' },
      { ...ada.publicKey, exp: 1 },
    ]
    expect(await reasonOf(signed, { keys: expired })).toContain('does not match')
  })

  test.each([
    [{ exp: 1_000 }, 'has expired'],
    [{ exp: 'never' }, 'has expired'],
    [{ nbf: 1_001 }, 'not valid yet'],
    [{ revoked: { revoked_at: 1 } }, 'is revoked'],
    [{ revoked: true }, 'is revoked'],
    [{ exp: 1_001, nbf: 1_000, revoked: false }, undefined],
  ])('with %j', async (more, fault) => {
    const options = { keys: [{ ...ada.publicKey, ...more } as Jwk], now: () => 1_000_000 }
    if (fault === undefined) await verifyAgentCard(signed, options)
    else expect(await reasonOf(signed, options)).toContain(fault)
    // Wherever it comes from.
    const getKey = (): Jwk | undefined => options.keys[0]
    if (fault !== undefined) expect(await reasonOf(signed, { ...options, keys: [], getKey })).toContain(fault)
  })

  test('expires by the clock of the runtime', async () => {
    const { exp = 4_102_444_800 } = {}
    await verifyAgentCard(signed, { keys: [{ ...ada.publicKey, exp }] })
    await reasonOf(signed, { keys: [{ ...ada.publicKey, exp: 1_000_000_000 }] })
  })

  test('that is revoked is not used, and is looked up by its key id', async () => {
    const isRevoked = vi.fn(() => Promise.resolve(true))
    expect(await reasonOf(signed, { keys, isRevoked })).toContain('is revoked')
    expect(isRevoked).toHaveBeenCalledWith({ alg: 'ES256', kid: 'ada' })
    await verifyAgentCard(signed, { keys, isRevoked: () => false })
  })

  test('for something else is refused', async () => {
    await reasonOf(signed, { keys: [{ ...ada.publicKey, use: 'enc' }] })
    await reasonOf(signed, { keys: [{ ...ada.publicKey, alg: 'ES384' }] })
    await reasonOf(signed, { keys: [{ ...ada.publicKey, key_ops: ['sign'] }] })
    await reasonOf(signed, { keys: [ada.privateKey] })
  })

  test('that cannot be found, or looked for, is no reason to fail otherwise', async () => {
    const failure = new Error('the database is down')
    const getKey = (): Promise<never> => Promise.reject(failure)
    const error = await rejected(() => verifyAgentCard(signed, { getKey }))
    expect(error).toMatchObject({ code: 'SIGNATURE_INVALID', cause: failure })
    for (const nothing of [null, undefined]) await reasonOf(signed, { getKey: () => nothing })
  })
})

describe('one valid signature', () => {
  test('143. is enough, wherever it stands', async () => {
    const bad = { protected: encode({ alg: 'ES256', kid: 'eve' }), signature: 'AAAA' }
    expect(await verifyAgentCard(signedBy(bad, bad, signature), { keys })).toMatchObject({ kid: 'ada' })
  })

  test('is searched among the first 16', async () => {
    const bad = { protected: encode({ alg: 'ES256', kid: 'eve' }), signature: 'AAAA' }
    const getKey = vi.fn(() => null)
    const many = Array.from({ length: 1_000 }, () => bad)
    await reasonOf(signedBy(...many, signature), { getKey })
    expect(getKey).toHaveBeenCalledTimes(16)
  })

  test('of another card does not verify this one', async () => {
    const other = await signAgentCard({ ...plainCard, name: 'Other' }, { key: ada.privateKey })
    await reasonOf(signedBy(...(other.signatures ?? [])))
  })

  test('is needed: the error lists what is wrong with each', async () => {
    const bad = { protected: encode({ alg: 'ES256', kid: 'eve' }), signature: 'AAAA' }
    expect(await reasonOf(signedBy(bad, { ...signature, signature: 'AAAA' }))).toBe(
      'card.signatures[0]: its key is not known; card.signatures[1]: it does not match',
    )
  })
})

describe('the algorithm', () => {
  const hmac = (header: object, secret: string | Buffer): AgentCardSignature => {
    const input = `${encode(header)}.${jose.base64url.encode(text)}`
    return {
      protected: encode(header),
      signature: createHmac('sha256', secret).update(input).digest('base64url'),
    }
  }

  test('"none" is refused', async () => {
    for (const alg of ['none', 'None', 'NONE', '']) {
      const card = signedBy({ protected: encode({ alg, kid: 'ada' }), signature: '-' })
      expect(await reasonOf(card)).toMatch(/not allowed/)
      await reasonOf(card, { keys, algorithms: [alg, 'none'] })
    }
  })

  test('with a shared secret is refused, unless the caller allows it', async () => {
    const secret = Buffer.alloc(32, 7)
    const key = { kty: 'oct', kid: 'ada', k: secret.toString('base64url') }
    const card = signedBy(hmac({ alg: 'HS256', kid: 'ada' }, secret))
    expect(await reasonOf(card, { keys: [key] })).toContain('HS256 is not allowed')
    expect(await verifyAgentCard(card, { keys: [key], algorithms: ['HS256'] })).toMatchObject({
      alg: 'HS256',
    })
    expect(await verifyAgentCard(card, { getKey: () => secret, algorithms: ['HS256'] })).toMatchObject({
      kid: 'ada',
    })
  })

  test('must be that of the key: a public key is refused as a shared secret', async () => {
    const algorithms = ['ES256', 'RS256', 'HS256']
    const rsa = await pair('rsa', 'RS256')
    const spki = await jose.exportSPKI((await jose.importJWK(rsa.publicKey)) as jose.CryptoKey)
    for (const secret of [spki, JSON.stringify(rsa.publicKey), String(rsa.publicKey['n'])]) {
      const card = signedBy(hmac({ alg: 'HS256', kid: 'rsa' }, secret))
      await reasonOf(card, { keys: [rsa.publicKey], algorithms })
      await reasonOf(card, { keys: [{ ...rsa.publicKey, alg: undefined } as never], algorithms })
    }
    const key = await jose.importJWK(rsa.privateKey, 'PS256')
    const crossed = await forge(text, key, { alg: 'PS256', kid: 'rsa' })
    await reasonOf(signedBy(crossed), { keys: [rsa.publicKey] })
  })

  test('can be narrowed', async () => {
    expect(await reasonOf(signed, { keys, algorithms: ['EdDSA'] })).toContain('ES256 is not allowed')
  })
})

describe('headers', () => {
  test('142. that are not protected are ignored', async () => {
    const kid = await forge(text, adaKey, { alg: 'ES256' }, { kid: 'ada' })
    expect(await reasonOf(signedBy(kid))).toContain('does not have alg and kid')
    const alg = await forge(text, adaKey, { kid: 'ada' }, { alg: 'ES256' })
    expect(await reasonOf(signedBy(alg))).toContain('does not have alg and kid')
    const fetch = vi.fn()
    const jku = await forge(text, adaKey, { alg: 'ES256', kid: 'ada' }, { jku: 'https://ada.example/k' })
    await reasonOf(signedBy(jku), { allowedJku: ['https://ada.example'], fetch })
    expect(fetch).not.toHaveBeenCalled()
    expect(await verifyAgentCard(signedBy({ ...signature, header: { note: 'x' } }), { keys })).toMatchObject({
      kid: 'ada',
    })
  })

  test('that say something twice are refused', async () => {
    for (const header of [{ alg: 'none' }, { alg: 'ES256' }, { kid: 'eve' }]) {
      await reasonOf(signedBy({ ...signature, header }))
    }
  })

  test('that demand an extension are refused', async () => {
    const critical = await forge(text, adaKey, { alg: 'ES256', kid: 'ada', crit: ['b64'], b64: true })
    expect(await reasonOf(signedBy(critical))).toContain('requires an extension')
    await reasonOf(signedBy({ ...signature, header: { crit: ['x'], x: 1 } }))
  })

  test.each([
    '',
    'x',
    '!!!!',
    'bnVsbA',
    'W10',
    encode({ alg: 1, kid: 'ada' }),
    encode({ alg: 'ES256', kid: '' }),
    encode({ alg: 'ES256', kid: 7 }),
  ])('%j is not a header', async (header) => {
    const card = signedBy({ ...signature, protected: header })
    expect(await rejected(() => verifyAgentCard(card, { keys }))).toMatchObject({
      code: header === '' ? 'INVALID_PARAMS' : 'SIGNATURE_INVALID',
    })
  })

  test('that carry their own key do not help', async () => {
    const own = await forge(text, await jose.importJWK(eve.privateKey), {
      alg: 'ES256',
      kid: 'eve',
      jwk: eve.publicKey,
      x5c: ['AAAA'],
    })
    expect(await reasonOf(signedBy(own))).toContain('is not known')
  })
})

test('a signature that is malleable or cut is refused', async () => {
  for (const other of [
    '',
    '=',
    signature.signature.slice(0, -4),
    `${signature.signature}AAAA`,
    'A'.repeat(86),
  ]) {
    const error = await rejected(() =>
      verifyAgentCard(signedBy({ ...signature, signature: other }), { keys }),
    )
    expect(error).toMatchObject({ code: other === '' ? 'INVALID_PARAMS' : 'SIGNATURE_INVALID' })
  }
})

test('both texts of a card with something empty in it are signed', async () => {
  const both = await signAgentCard(bearerCard, { key: ada.privateKey })
  for (const each of both.signatures ?? []) {
    expect(await verifyAgentCard({ ...both, signatures: [each] }, { keys })).toMatchObject({ kid: 'ada' })
  }
  expect((await verifyAgentCard(both, { keys })).card.securityRequirements).toEqual([
    { schemes: { bearer: {} } },
  ])
})
