/**
 * SHA-256 (FIPS 180-4) for short texts, at once: Web Crypto answers by promises only.
 *
 * @module
 */
import { builtin } from './environment.js'

/** As much of Node's module as is used here. */
interface NodeCrypto {
  createHash(algorithm: string): { update(text: string): { digest(encoding: 'hex'): string } }
}

let known: ((text: string) => string) | undefined

/** The hash of a text in UTF-8, in hexadecimal digits. */
export function hashOf(text: string): string {
  known ??= hashOfNode() ?? hashInScript
  return known(text)
}

/** It takes a quarter of the time. */
function hashOfNode(): ((text: string) => string) | undefined {
  // It is this module, where the platform has it.
  const node = builtin('crypto') as NodeCrypto | undefined
  return node && ((text) => node.createHash('sha256').update(text).digest('hex'))
}

const [PRIMES, ROUNDS, BLOCK] = [firstPrimes(64), 64, 64]
/** The first 32 bits of the fractional parts of the cube roots of the primes (§4.2.2). */
const CONSTANTS = Int32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)))
/** The same of the square roots of the first eight (§5.3.3). */
const INITIAL = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)))

/** For browsers, and other platforms without this module of Node. */
export function hashInScript(text: string): string {
  const bytes = new TextEncoder().encode(text)
  const all = new Uint8Array(Math.ceil((bytes.length + 9) / BLOCK) * BLOCK)
  all.set(bytes)
  all[bytes.length] = 0x80
  const padded = new DataView(all.buffer)
  padded.setUint32(padded.byteLength - 4, bytes.length * 8)
  let hash = INITIAL
  for (let at = 0; at < padded.byteLength; at += BLOCK) hash = compress(hash, padded, at)
  return hash.map((word) => word.toString(16).padStart(8, '0')).join('')
}

/** One block of 64 bytes (§6.2.2). In separate variables: arrays of them would take most of the time. */
function compress(hash: readonly number[], data: DataView, at: number): number[] {
  const words = expand(data, at)
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = hash
  for (let round = 0; round < ROUNDS; round += 1) {
    const choice = (e & f) ^ (~e & g)
    const majority = (a & b) ^ (a & c) ^ (b & c)
    const first =
      (h +
        (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
        choice +
        (CONSTANTS[round] ?? 0) +
        (words[round] ?? 0)) |
      0
    const second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  return [a, b, c, d, e, f, g, h].map((value, index) => (value + (hash[index] ?? 0)) >>> 0)
}

/** The words of a block, one for each round. */
function expand(data: DataView, at: number): Int32Array {
  const words = new Int32Array(ROUNDS)
  for (let round = 0; round < 16; round += 1) words[round] = data.getInt32(at + 4 * round)
  for (let round = 16; round < ROUNDS; round += 1) {
    const older = words[round - 15] ?? 0
    const newer = words[round - 2] ?? 0
    words[round] =
      (words[round - 16] ?? 0) +
      (rotate(older, 7) ^ rotate(older, 18) ^ (older >>> 3)) +
      (words[round - 7] ?? 0) +
      (rotate(newer, 17) ^ rotate(newer, 19) ^ (newer >>> 10))
  }
  return words
}

function rotate(value: number, count: number): number {
  return (value >>> count) | (value << (32 - count))
}

function fraction(value: number): number {
  return Math.floor((value % 1) * 2 ** 32)
}

function firstPrimes(count: number): number[] {
  const primes: number[] = []
  for (let next = 2; primes.length < count; next += 1) {
    if (primes.every((prime) => next % prime !== 0)) primes.push(next)
  }
  return primes
}
