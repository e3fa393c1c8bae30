/** Whether everything runs, by `npm run test:all`. */
export const runsAll = process.env['TEST_ALL'] === '1'

/** How many of `all` seeds or random cases to try: a fifth in `npm test`, all of them in `npm run test:all`. */
export function samples(all: number): number {
  return runsAll ? all : Math.ceil(all / 5)
}
