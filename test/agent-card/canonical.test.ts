import { A2AError } from 'a2a-tasks'
import { buildAgentCard, canonicalizeAgentCard } from 'a2a-tasks/agent-card'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalize } from '../../src/agent-card/canonical.js'
import { thrown } from '../support/manager.js'

describe('RFC 8785', () => {
  test('§3.2.2', () => {
    const input = String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`
    expect(canonicalize(JSON.parse(input))).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    )
  })

  test('§3.2.3: members go by their UTF-16 code units', () => {
    const names = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    }
    expect(Object.values(JSON.parse(canonicalize(names)) as object)).not.toEqual([])
    expect([...canonicalize(names).matchAll(/:"([^"]+)"/g)].map(([, name]) => name)).toEqual([
      'Carriage Return',
      'One',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ])
  })

  test.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ])('appendix B: %s is %s', (bits, text) => {
    expect(canonicalize(Buffer.from(bits, 'hex').readDoubleBE())).toBe(text)
  })

  test.each([NaN, Infinity, '\ud83d', ['\ude00'], { '\ud83d': 1 }, 1n, undefined, () => 1])(
    '%s has no canonical form',
    (value) => {
      expect(
        A2AError.is(
          thrown(() => canonicalize(value)),
          'INVALID_PARAMS',
        ),
      ).toBe(true)
    },
  )

  test('whatever order members come in', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ maxDepth: 2, stringUnit: 'grapheme' })),
        (value) => {
          const turned = Object.fromEntries(Object.entries(value).reverse())
          expect(canonicalize(turned)).toBe(canonicalize(value))
          expect(JSON.parse(canonicalize(value))).toEqual(JSON.parse(JSON.stringify(value)))
        },
      ),
    )
  })
})

describe('`canonicalizeAgentCard`', () => {
  test('144. returns the canonical form of the example in §8.4.1', () => {
    const fragment = {
      name: 'Example Agent',
      description: '',
      capabilities: { streaming: false, pushNotifications: false, extensions: [] },
      skills: [],
    }
    expect(canonicalizeAgentCard(fragment)).toBe(
      '{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent","skills":[]}',
    )
  })

  test('141. keeps what is required or differs from its default, and nothing else that is empty', () => {
    const card = {
      ...buildAgentCard({ name: 'A', url: 'https://a.example', protocolVersions: ['1.0'] }),
      documentationUrl: '',
      provider: { organization: '', url: '' },
      securitySchemes: { mtls: { mtlsSecurityScheme: { description: '' } } },
      securityRequirements: [{ schemes: { mtls: { list: [] } } }, {}],
      skills: [
        {
          id: 's',
          name: '',
          description: '',
          tags: [],
          examples: [],
          inputModes: [],
          securityRequirements: [],
        },
      ],
      capabilities: {
        extensions: [{ uri: 'urn:x', description: '', required: false, params: { '': null } }],
      },
      signatures: [{ protected: 'e30', signature: 'c2ln' }],
      url: 'https://a.example',
      supportedInterfaces: [
        { url: 'u', protocolBinding: 'b', protocolVersion: 'v', tenant: '', transport: 'b' },
      ],
    }
    expect(JSON.parse(canonicalizeAgentCard(card))).toEqual({
      name: 'A',
      description: 'A',
      version: '1.0.0',
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      documentationUrl: '',
      provider: { organization: '', url: '' },
      securitySchemes: { mtls: { mtlsSecurityScheme: {} } },
      securityRequirements: [{ schemes: { mtls: {} } }, {}],
      skills: [{ id: 's', name: '', description: '', tags: [] }],
      capabilities: { extensions: [{ uri: 'urn:x', params: { '': null } }] },
      supportedInterfaces: [{ url: 'u', protocolBinding: 'b', protocolVersion: 'v' }],
    })
    const securityRequirements: never[] = []
    expect(JSON.parse(canonicalizeAgentCard({ securityRequirements, securitySchemes: {} }))).toEqual({})
  })

  test('141. knows every field of a flow', () => {
    const flow = {
      authorizationUrl: 'a',
      tokenUrl: 't',
      refreshUrl: '',
      scopes: {},
      pkceRequired: false,
      deviceAuthorizationUrl: 'd',
    }
    const shown = (name: string): unknown => {
      const card = { securitySchemes: { s: { oauth2SecurityScheme: { flows: { [name]: flow } } } } }
      const { securitySchemes } = JSON.parse(canonicalizeAgentCard(card)) as typeof card
      return securitySchemes.s.oauth2SecurityScheme.flows[name]
    }
    expect(shown('authorizationCode')).toEqual({ authorizationUrl: 'a', tokenUrl: 't', scopes: {} })
    expect(shown('clientCredentials')).toEqual({ tokenUrl: 't', scopes: {} })
    expect(shown('implicit')).toEqual({ authorizationUrl: 'a' })
    expect(shown('password')).toEqual({ tokenUrl: 't' })
    expect(shown('deviceCode')).toEqual({ deviceAuthorizationUrl: 'd', tokenUrl: 't', scopes: {} })
  })
})
