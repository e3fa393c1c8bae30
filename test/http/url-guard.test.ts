import { lookup } from 'node:dns/promises'
import { A2AError } from 'a2a-tasks'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { request, toHttpSettings } from '../../src/http/request.js'
import { urlGuard, validateUrl, type UrlGuard } from '../../src/http/url-guard.js'
import { failureOf, site } from './support/http.js'

function blockOf(url: string | URL): A2AError<'URL_BLOCKED'> {
  try {
    validateUrl(url)
  } catch (error) {
    if (A2AError.is(error, 'URL_BLOCKED')) return error
    throw error
  }
  throw new Error(`${String(url)} is allowed`)
}

async function isAllowed(guard: UrlGuard, url: string): Promise<boolean> {
  try {
    await guard(new URL(url))
    return true
  } catch (error) {
    if (A2AError.is(error, 'URL_BLOCKED')) return false
    throw error
  }
}

const PRIVATE = 'is a private/reserved IP address'

describe('a URL is blocked, and the error says why', () => {
  test.each([
    ['ftp://agent.example.com', 'Blocked URL scheme: ftp: — only http and https are allowed'],
    ['file:///etc/passwd', 'Blocked URL scheme: file: — only http and https are allowed'],
    ['javascript:alert(1)', 'Blocked URL scheme: javascript: — only http and https are allowed'],
    ['https://me:secret@agent.example.com', 'Blocked URL: credentials in it are not allowed'],
    ['https://me@agent.example.com', 'Blocked URL: credentials in it are not allowed'],
    ['http://10.1.2.3:8080/x', `Blocked URL: 10.1.2.3 ${PRIVATE}`],
    ['http://[fd00::1]/', `Blocked URL: fd00::1 ${PRIVATE}`],
    ['http://localhost:3000', 'Blocked URL: localhost is not allowed'],
    ['http://metadata.google.internal/', 'Blocked URL: metadata.google.internal is not allowed'],
    ['http://printer.local', 'Blocked URL: printer.local is a local network hostname'],
    ['no url', 'Invalid URL: no url'],
    ['', 'Invalid URL: '],
    ['http://me:secret@[::1', 'Invalid URL: (not shown)'],
    ['http://me:pass/secret@host', 'Invalid URL: (not shown)'],
  ])('%s', (url, message) => {
    const error = blockOf(url)
    expect(error).toMatchObject({ name: 'UrlBlockedError', code: 'URL_BLOCKED', message })
    expect(JSON.stringify([error.message, error.data])).not.toContain('secret')
  })
})

describe('no name that only a private network resolves', () => {
  test.each([
    // Names reserved or commonly used for private networks: RFC 6762 appendix G, RFC 8375, RFC 9476.
    ...['db.private', 'db.internal', 'db.intranet', 'db.corp', 'db.home', 'db.lan', 'db.mail', 'db.alt'],
    ...['db.localnet', 'db.homenet', 'db.domain', 'db.workgroup', 'db.invalid', 'nas.home.arpa', 'db.priv'],
    // Service discovery and containers.
    ...['db.service.consul', 'db.docker', 'db.docker.internal', 'db.dns.podman', 'db.default.svc'],
    ...[
      'db.cluster.local',
      'db.svc.cluster.local',
      'db.lxd',
      'db.incus',
      'db.nomad',
      'db.mesos',
      'vm.vagrant',
    ],
    // Networks over the Internet, and of virtual machines.
    ...['host.tailnet.ts.net', 'ts.net', 'laptop.mshome.net', 'host.user.beta.tailscale.net'],
    ...['vm.a1.bx.internal.cloudapp.net', 'vm.reddog.microsoft.com', 'ip-10-0-0-1.ec2.internal'],
    // Routers.
    ...[
      'fritz.box',
      'nas.fritz.box',
      'FRITZ.BOX',
      'fritz.nas',
      'speedport.ip',
      'easy.box',
      'o2.box',
      'pi.hole',
    ],
    ...['routerlogin.net', 'www.routerlogin.com', 'tplinkwifi.net', 'router.asus.com', 'myfritz.box'],
    // Discovery of proxies and tunnels, in any domain.
    ...['wpad.example.com', 'wpad.corp.example.com', 'isatap.example.com'],
    // Public names of the loopback address.
    ...['localtest.me', 'app.localtest.me', 'app.lvh.me', 'app.vcap.me', 'app.lacolhost.com'],
  ])('%s', async (host) => {
    expect(await isAllowed(urlGuard(), `http://${host}/`)).toBe(false)
    expect(await isAllowed(urlGuard({ allow: [host] }), `http://${host}/`)).toBe(true)
  })

  test.each([
    ...['private.example.com', 'consul.example.com', 'docker.com', 'hub.docker.com', 'www.consul.io'],
    ...['agents.net', 'parts.net', 'hosts.net', 'notmshome.net', 'letter.box', 'sfritz.box', 'dropbox.com'],
    ...['mywpad.example.com', 'agent.wpad.com', 'gmail.com', 'mail.example.com', 'cloudapp.net', 'asus.com'],
    ...['microsoft.com', 'tailscale.com', 'example.invalid.com', 'me.com', 'solvh.me'],
  ])('unlike %s', async (host) => {
    expect(await isAllowed(urlGuard(), `http://${host}/`)).toBe(true)
  })
})

// What the guard of corvid-agent lets through is here, too.
describe('no name of a local network, and no address in any spelling', () => {
  test.each([
    ...['localhost', 'LOCALHOST', 'localhost.', 'api.localhost', 'api.localhost.', 'localhost.localdomain'],
    ...[
      'intranet',
      'metadata',
      'db.internal',
      'nas.lan',
      'printer.local.',
      'router.home.arpa',
      'example.com.',
    ],
    ...[
      '127.0.0.1',
      '127.1',
      '127.0.0.1.',
      '0.0.0.0',
      '0',
      '2130706433',
      '0x7f000001',
      '0x7f.1',
      '017700000001',
    ],
    ...['0177.0.0.1', '１２７.0.0.1', '127。0。0。1', '%31%32%37.0.0.1', '10.255.255.255', '172.16.0.1'],
    ...['172.31.255.255', '192.168.0.1', '169.254.169.254', '0xa9fea9fe', '100.64.0.1', '100.100.100.200'],
    ...[
      '192.0.0.1',
      '192.0.0.192',
      '192.0.2.1',
      '198.51.100.1',
      '203.0.113.1',
      '198.18.0.1',
      '198.19.255.255',
    ],
    ...['192.88.99.1', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255', '168.63.129.16'],
    ...[
      '[::1]',
      '[::]',
      '[0:0:0:0:0:0:0:1]',
      '[fd00::1]',
      '[fc00::1]',
      '[fd00:ec2::254]',
      '[fe80::1]',
      '[febf::1]',
    ],
    ...[
      '[fec0::1]',
      '[ff02::1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[::ffff:8.8.8.8]',
      '[::127.0.0.1]',
    ],
    ...[
      '[::ffff:0:127.0.0.1]',
      '[2002:7f00:1::]',
      '[64:ff9b::7f00:1]',
      '[64:ff9b:1::1]',
      '[2001::1]',
      '[2001:db8::1]',
    ],
    ...['[2001:2::1]', '[2001:10::1]', '[100::1]', '[3fff::1]', '[5f00::1]', '[4000::1]', '[fe80::1%25eth0]'],
  ])('%s', (host) => {
    expect(blockOf(`http://${host}/`).message).toMatch(/^(Blocked URL: \S+ is |Invalid URL: )/)
  })

  test('nor any address of the ranges, in any spelling', () => {
    fc.assert(
      fc.property(blockedIPv4, fc.nat(4), (ip, spelling) => {
        expect(blockOf(`http://${spellIPv4(ip, spelling)}:8080/x`).data.reason).toContain(PRIVATE)
      }),
    )
    fc.assert(
      fc.property(blockedIPv6, fc.nat(2), (groups, spelling) => {
        expect(blockOf(`https://[${spellIPv6(groups, spelling)}]/`).data.reason).toContain(PRIVATE)
      }),
    )
  })
})

describe('a public URL is what it was', () => {
  test.each([
    ...['https://agent.example.com/a/b?c=d', 'http://agent.example.com:8080/', 'https://8.8.8.8/'],
    ...['http://134744072/', 'http://172.32.0.1/', 'http://100.128.0.1/', 'http://[2606:4700:4700::1111]/'],
    ...['https://localhost.example.com/', 'https://mylocalhost.org/', 'https://internal.example.com/'],
    ...['https://münchen.example/', 'https://agent.example.com/http://127.0.0.1/'],
  ])('%s', (url) => {
    expect(validateUrl(url).href).toBe(new URL(url).href)
    const given = new URL(url)
    expect(validateUrl(given)).toBe(given)
  })

  test('also with letters of Latin-1, once the code is optimised', () => {
    for (let count = 0; count < 20_000; count += 1) {
      expect(validateUrl('https://münchen.example/').hostname).toBe('xn--mnchen-3ya.example')
    }
  })
})

describe('exceptions', () => {
  test.each([
    [
      'localhost',
      ['http://localhost:1/', 'https://localhost/'],
      ['http://api.localhost/', 'http://127.0.0.1/'],
    ],
    ['Agent.Internal', ['http://agent.internal/'], ['http://other.internal/']],
    ['localhost:4000', ['http://localhost:4000/'], ['http://localhost:4001/', 'http://localhost/']],
    ['localhost:80', ['http://localhost/'], ['https://localhost/']],
    [
      '127.0.0.1',
      ['http://127.1/', 'http://0x7f000001/'],
      ['http://127.0.0.2/', 'http://[::ffff:127.0.0.1]/'],
    ],
    ['10.1.0.0/16', ['http://10.1.255.1/'], ['http://10.2.0.1/', 'http://[::ffff:10.1.0.1]/']],
    ['::1', ['http://[::1]:8000/'], ['http://[::2]/']],
    ['[::1]:8000', ['http://[::1]:8000/'], ['http://[::1]/']],
    ['fd00::/8', ['http://[fd12::1]/'], ['http://[fc00::1]/', 'http://10.0.0.1/']],
  ])('%s', async (entry, allowed, refused) => {
    const guard = urlGuard({ allow: [entry] })
    for (const url of allowed) expect(await isAllowed(guard, url), url).toBe(true)
    for (const url of refused) expect(await isAllowed(guard, url), url).toBe(false)
    expect(await isAllowed(guard, 'https://agent.example.com/')).toBe(true)
  })

  test('allow no other scheme and no credentials', async () => {
    const guard = urlGuard({ allow: ['localhost'] })
    expect(await isAllowed(guard, 'ftp://localhost/')).toBe(false)
    expect(await isAllowed(guard, 'http://me:secret@localhost/')).toBe(false)
  })

  test.each(['', '10.0.0.0/33', 'http://localhost', 'a b', 'me@localhost', 'localhost/x'])(
    '%j is none',
    (entry) => {
      expect(() => urlGuard({ allow: [entry] })).toThrow(RangeError)
    },
  )

  test('a misspelt option is reported', () => {
    const options = { allow: [], allowed: ['localhost'] }
    const hosts: unknown[] = ['localhost', null]
    for (const allow of hosts) {
      expect(() => urlGuard({ allow: allow as string[] })).toThrow(
        `"allow" must be an array of hosts, got ${allow === null ? 'null' : 'a string'}`,
      )
    }
    expect(() => urlGuard(options)).toThrow('Unknown option "allowed" of urlGuard')
  })
})

describe('what a name resolves to', () => {
  const resolving = (...addresses: string[]): UrlGuard =>
    urlGuard({ allow: ['10.1.0.0/16'], resolve: () => Promise.resolve(addresses) })

  test.each([
    [true, ['93.184.216.34']],
    [true, ['2606:4700::1111', '93.184.216.34']],
    [true, ['10.1.2.3']],
    [false, ['127.0.0.1']],
    [false, ['93.184.216.34', '10.2.0.1']],
    [false, ['::1']],
    [false, ['fe80::1%eth0']],
    [false, ['::ffff:10.1.2.3']],
    [false, []],
    [false, ['agent.example.com']],
  ])('%s: %j', async (expected, addresses) => {
    expect(await isAllowed(resolving(...addresses), 'https://agent.example.com/')).toBe(expected)
  })

  test('is reported when it is not public, and when it is not known', async () => {
    const failing = urlGuard({ resolve: () => Promise.reject(new Error('ENOTFOUND')) })
    const message = async (guard: UrlGuard): Promise<unknown> =>
      await failureOf((async () => guard(new URL('https://agent.example.com')))())
    expect(await message(resolving('10.2.0.1'))).toMatchObject({
      message: 'Blocked URL: agent.example.com resolves to a private/reserved IP range',
    })
    expect(await message(failing)).toMatchObject({
      message: 'Blocked URL: agent.example.com cannot be resolved',
      cause: { message: 'ENOTFOUND' },
    })
  })

  test('does not matter to addresses, to names that are allowed, nor to those that are blocked anyway', async () => {
    const asked: string[] = []
    const guard = urlGuard({
      allow: ['trusted.internal'],
      resolve: (host) => {
        asked.push(host)
        return Promise.resolve(['93.184.216.34'])
      },
    })
    expect(await isAllowed(guard, 'https://8.8.8.8/')).toBe(true)
    expect(await isAllowed(guard, 'https://trusted.internal/')).toBe(true)
    expect(await isAllowed(guard, 'https://localhost/')).toBe(false)
    expect(asked).toEqual([])
  })

  test('is asked as the documentation shows', async () => {
    const resolve = async (host: string): Promise<string[]> =>
      (await lookup(host, { all: true })).map(({ address }) => address)
    expect(await isAllowed(urlGuard({ resolve }), 'http://localhost.example.invalid/')).toBe(false)
    expect(await resolve('localhost')).not.toEqual([])
  })
})

describe('over HTTP', () => {
  const get = (url: string, guard: UrlGuard): Promise<unknown> =>
    request(toHttpSettings({ urlGuard: guard }, 1000), { method: 'GET', url }, { timeoutMs: 5000 })

  test('a redirect leads nowhere that is blocked', async () => {
    const inner = await site(() => ({ body: 'secret' }))
    const outer = await site(() => ({ status: 302, headers: { location: inner.url } }))
    const guard = urlGuard({ allow: [new URL(outer.url).host] })
    expect(await failureOf(get(outer.url, guard))).toMatchObject({
      code: 'URL_BLOCKED',
      message: `Blocked URL: 127.0.0.1 ${PRIVATE}`,
    })
    expect([outer.asked.length, inner.asked.length]).toEqual([1, 0])
    expect(await get(outer.url, urlGuard({ allow: ['127.0.0.1'] }))).toMatchObject({ text: 'secret' })
  })

  test('nothing is sent to what is blocked', async () => {
    const agent = await site(() => ({ body: 'secret' }))
    expect(await failureOf(get(agent.url, urlGuard()))).toMatchObject({ code: 'URL_BLOCKED' })
    expect(agent.asked).toEqual([])
  })
})

/** Ranges that are not reachable over the Internet: the first octets, and the number of bits that count. */
const RANGES_4: readonly (readonly [readonly number[], number])[] = [
  ...([
    [[0], 8],
    [[10], 8],
    [[127], 8],
    [[100, 64], 10],
    [[169, 254], 16],
    [[172, 16], 12],
  ] as const),
  ...([
    [[192, 168], 16],
    [[192, 0, 0], 24],
    [[192, 0, 2], 24],
    [[198, 18], 15],
    [[198, 51, 100], 24],
  ] as const),
  ...([
    [[203, 0, 113], 24],
    [[224], 4],
    [[240], 4],
  ] as const),
]

const blockedIPv4 = fc
  .tuple(fc.constantFrom(...RANGES_4), fc.nat(0xffff_ffff))
  .map(([[octets, bits], random]) => {
    const base = [0, 1, 2, 3].reduce((sum, index) => sum * 256 + (octets[index] ?? 0), 0)
    return base + (random % 2 ** (32 - bits))
  })

function spellIPv4(ip: number, spelling: number): string {
  const octets = [24, 16, 8, 0].map((shift) => Math.floor(ip / 2 ** shift) % 256)
  const [a = 0, b = 0] = octets
  const spellings = [
    octets.join('.'),
    String(ip),
    `0x${ip.toString(16)}`,
    octets.map((octet) => `0${octet.toString(8)}`).join('.'),
    `${a}.0x${b.toString(16)}.${ip % 65_536}`,
  ]
  return spellings[spelling] ?? ''
}

const group = fc.nat(0xffff)
const rest = (length: number): fc.Arbitrary<number[]> =>
  fc.array(group, { minLength: length, maxLength: length })
const zeros = (count: number): number[] => Array<number>(count).fill(0)
const embedded = blockedIPv4.map((ip) => [Math.floor(ip / 65_536), ip % 65_536])

const blockedIPv6 = fc.oneof(
  fc.tuple(fc.integer({ min: 0xfc00, max: 0xfdff }), rest(7)).map(([first, others]) => [first, ...others]),
  fc.tuple(fc.integer({ min: 0xfe80, max: 0xfeff }), rest(7)).map(([first, others]) => [first, ...others]),
  fc.tuple(fc.integer({ min: 0xff00, max: 0xffff }), rest(7)).map(([first, others]) => [first, ...others]),
  fc
    .tuple(fc.constantFrom(0x2002), embedded, rest(5))
    .map(([first, ip, others]) => [first, ...ip, ...others]),
  rest(6).map((others) => [0x2001, 0, ...others]),
  rest(6).map((others) => [0x2001, 0xdb8, ...others]),
  embedded.map((ip) => [...zeros(5), 0xffff, ...ip]),
  embedded.map((ip) => [...zeros(6), ...ip]),
  embedded.map((ip) => [0x64, 0xff9b, ...zeros(4), ...ip]),
)

function spellIPv6(groups: readonly number[], spelling: number): string {
  const hex = groups.map((one) => one.toString(16))
  if (spelling === 0) return hex.join(':')
  if (spelling === 1) return hex.map((one) => one.padStart(4, '0').toUpperCase()).join(':')
  const [high = 0, low = 0] = groups.slice(6)
  return `${hex.slice(0, 6).join(':')}:${spellIPv4(high * 65_536 + low, 0)}`
}
