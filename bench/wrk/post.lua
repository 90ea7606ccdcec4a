-- plain.lua, with POST and a JSON body: wrk … -s post.lua URL -- BODY
init = function(arguments)
   wrk.method = "POST"
   wrk.headers["Content-Type"] = "application/json"
   wrk.body = arguments[1]
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
