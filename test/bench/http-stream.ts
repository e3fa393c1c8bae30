/**
 * A streamed answer of 2,000 chunks over HTTP, read from the socket to its end: the time and the CPU time of the server for a
 * chunk, and what a chunk is on the wire. Each side has its own process, as in `http.ts`.
 */
import { connect } from 'node:net'
import type { Build } from './build.js'
import { CHUNKS } from './chunks.js'
import { sample, type Comparison, type Sample, type Variant } from './harness.js'
import { ServerProcess, type Side } from './http-server.js'
import { fasterThan, formatBytes, type Row } from './report.js'
import { IN_CHUNKS, sendBody } from './requests.js'
import { expectEqual, EXPRESS, type Case } from './workload.js'

/** A run of ours takes milliseconds, one of the peer's seconds. */
const OUR_RUNS = 20
const ROUNDS = 5

interface Streamed {
  readonly chunks: number
  readonly bytes: number
}

/** A connection for one stream, since the server closes none. */
function readStream(port: number, index: number): Promise<Streamed> {
  const body = JSON.stringify(sendBody(index, 'SendStreamingMessage', IN_CHUNKS))
  const head = [
    ...['POST / HTTP/1.1', 'host: localhost', 'content-type: application/json', 'a2a-version: 1.0'],
    ...['accept: text/event-stream', `content-length: ${Buffer.byteLength(body)}`, '', ''],
  ]
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(head.join('\r\n') + body))
    let text = ''
    socket.setEncoding('latin1').on('data', (data: string) => {
      text += data
      if (!data.endsWith('\r\n0\r\n\r\n')) return
      socket.destroy()
      resolve({ chunks: text.split('"artifactUpdate"').length - 1, bytes: text.length })
    })
    socket.on('error', reject)
  })
}

interface Streaming extends Variant {
  /** The bytes of the latest stream, its head included. */
  readonly bytes: () => number
}

async function streaming(side: Side, build: Build, runs: number): Promise<Streaming> {
  const server = await ServerProcess.start(side, build)
  let index = 0
  let latest = 0
  return {
    ops: CHUNKS * runs,
    run: async () => {
      for (let run = 0; run < runs; run++) {
        const { chunks, bytes } = await readStream(server.port, index++)
        expectEqual(chunks, CHUNKS, 'chunks of a stream')
        latest = bytes
      }
    },
    ...{ cpu: () => server.cpu(), close: () => server.stop(), bytes: () => latest },
  }
}

async function* streams(build: Build): AsyncIterable<Row> {
  const ours = await streaming('ours', build, OUR_RUNS)
  const peer = await streaming('official', build, 1)
  try {
    const [own = [], others = []] = await sample([ours, peer], { rounds: ROUNDS, warmUpOps: CHUNKS })
    const timesOf = (clock: keyof Sample): Comparison => ({
      ours: own.map((round) => round[clock]),
      peer: others.map((round) => round[clock]),
    })
    const work = 'a chunk of 2,000 over HTTP'
    yield fasterThan(work, EXPRESS, timesOf('elapsed'), { goal: 5 })
    yield fasterThan(`${work}, CPU of the server`, EXPRESS, timesOf('cpu'), {})
    const [bytes, theirs] = [ours.bytes() / CHUNKS, peer.bytes() / CHUNKS]
    yield {
      ...{
        work: `${work}, on the wire`,
        peer: EXPRESS,
        ours: formatBytes(bytes),
        theirs: formatBytes(theirs),
      },
      ...{ value: bytes / theirs, unit: '×', good: 'at most' },
    }
  } finally {
    await Promise.all([ours.close?.(), peer.close?.()])
  }
}

export const httpStreamCases: readonly Case[] = [{ name: 'server: a stream over HTTP', run: streams }]
