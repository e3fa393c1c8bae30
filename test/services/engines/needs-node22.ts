/** For queues whose packages run on Node 22 only. */
import { expect, test } from 'vitest'
import { read } from '../../support/repository.js'

export function needsNode22(name: string): void {
  test(`${name} needs Node 22, and this is ${process.version}: npm run test:node22`, () => {
    expect(read('package.json')).toContain('"test:node22"')
  })
}
