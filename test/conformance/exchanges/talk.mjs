/** Sends the requests of `exchanges.mjs` to an agent and reads its responses. Asserts by throwing. */

/**
 * A talk with the agent at `base`: ask it all `EXCHANGES` of `exchanges.mjs`, one after the other.
 *
 * @param ask goes to it by another way than HTTP.
 */
export function talkTo(base, ask = fetch) {
  const kept = {}
  const send = ({ method, path, headers, body }) => {
    const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body)
    return ask(
      new Request(base + path, {
        method,
        headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
        ...(text !== undefined && { body: text }),
        signal: AbortSignal.timeout(60_000),
      }),
    )
  }
  return async (exchange) => {
    const {
      name,
      request,
      duringStream,
      status = 200,
      headers,
      json,
      events,
      keep = {},
    } = fill(exchange, kept)
    try {
      const actual = await answerOf(await send(request), duringStream && (() => send(duringStream)))
      const wrong = difference(actual, { status, headers, json, events }, 'answer')
      if (wrong !== undefined) throw new Error(wrong)
      for (const [key, path] of Object.entries(keep)) {
        kept[key] = path.split('.').reduce((value, step) => value[step], actual)
      }
    } catch (error) {
      throw new Error(`${name}: ${error.message}`, { cause: error })
    }
  }
}

async function answerOf(response, duringStream) {
  const headers = Object.fromEntries(response.headers)
  const isStream = headers['content-type'] === 'text/event-stream'
  const text = isStream ? await readStream(response, duringStream) : await response.text()
  return {
    status: response.status,
    headers,
    ...(isStream ? { events: eventsIn(text) } : { json: text === '' ? undefined : JSON.parse(text) }),
  }
}

/** All of a stream. When its first event has come, it continues while `duringStream` is asked. */
async function readStream(response, duringStream) {
  const decoder = new TextDecoder()
  let text = ''
  let asked
  for await (const chunk of response.body) {
    text += decoder.decode(chunk, { stream: true })
    if (/^data: .*\n\n/m.test(text)) asked ??= duringStream?.()
  }
  await (await asked)?.text()
  return text
}

/** The data of events. Their ids have to rise. */
function eventsIn(text) {
  const ids = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
  if (ids.some((id, index) => id <= (ids[index - 1] ?? 0))) throw new Error(`The ids do not rise: ${ids}`)
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data))
}

/** `value`, with what was kept. */
function fill(value, kept) {
  if (typeof value === 'string') return value.replace(/\$(\w+)/g, (name, key) => kept[key] ?? name)
  if (typeof value !== 'object' || value === null || value instanceof RegExp) return value
  if (Array.isArray(value)) return value.map((item) => fill(item, kept))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, kept)]))
}

/** Where `actual` is not what it should be. */
function difference(actual, expected, path) {
  if (expected instanceof RegExp) {
    if (typeof actual === 'string' && expected.test(actual)) return undefined
  } else if (typeof expected === 'object' && expected !== null) {
    const isList = Array.isArray(expected)
    if (typeof actual === 'object' && actual !== null && Array.isArray(actual) === isList) {
      // Of the length, too.
      const keys = isList ? [...expected.keys(), 'length'] : Object.keys(expected)
      for (const key of keys) {
        if (path === 'answer' && expected[key] === undefined) continue
        const wrong = difference(actual[key], expected[key], `${path}.${key}`)
        if (wrong !== undefined) return wrong
      }
      return undefined
    }
  } else if (actual === expected) return undefined
  const shown = expected instanceof RegExp ? String(expected) : JSON.stringify(expected)
  return `${path} should be ${shown}, is ${JSON.stringify(actual)}`
}
