const core = require('a2a-tasks')
const server = require('a2a-tasks/server')
const testing = require('a2a-tasks/testing')

import('./smoke-life.mjs')
  .then(({ live }) => live(core, server, testing))
  .then((result) => console.log('require:', result))
