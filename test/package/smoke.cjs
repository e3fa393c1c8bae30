const core = require('a2a-tasks')
const testing = require('a2a-tasks/testing')

import('./smoke-life.mjs')
  .then(({ live }) => live(core, testing))
  .then((result) => console.log('require:', result))
