-- plain.lua, with several requests in each write: wrk … -s pipelined.lua URL -- DEPTH
local batch

init = function(arguments)
   local one = wrk.format()
   batch = string.rep(one, tonumber(arguments[1]) or 16)
end

request = function()
   return batch
end

done = function(summary, latency, requests)
   local errors = summary.errors
   io.write(string.format(
      'counted {"requests": %d, "bytes": %d, "microseconds": %d, "connect": %d, "read": %d, ' ..
      '"write": %d, "status": %d, "timeout": %d, "p50": %d, "p99": %d, "max": %d}\n',
      summary.requests, summary.bytes, summary.duration, errors.connect, errors.read,
      errors.write, errors.status, errors.timeout,
      latency:percentile(50), latency:percentile(99), latency.max))
end
