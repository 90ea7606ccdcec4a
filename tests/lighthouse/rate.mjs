// rate: Lighthouse's scores of pages, in a Chromium that runs already.
//
//   node rate.mjs FOLDER < {"port": 9222, "cookie": "…", "language": "zh", "addresses": ["http://…", …]}
//
// FOLDER has node_modules. One line of JSON for each address: the two scores, the audits that cost
// a point and its fault, if it could not be rated.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const inFolder = createRequire(pathToFileURL(process.argv[2] + "/x.js"));
const { default: lighthouse } = await import(pathToFileURL(inFolder.resolve("lighthouse")));

let asked = "";
for await (const piece of process.stdin) asked += piece;
const { port, cookie, language, addresses } = JSON.parse(asked);

for (const address of addresses) {
  const { lhr } = await lighthouse(address, {
    port,
    logLevel: "error",
    onlyCategories: ["accessibility", "best-practices"],
    extraHeaders: {
      ...(cookie && { Cookie: cookie }),
      ...(language && { "Accept-Language": language }),
    },
    throttlingMethod: "provided",
    // A member's page keeps an event stream open, so that its network is never idle.
    maxWaitForLoad: 5000,
    // The pauses are for figures of speed.
    pauseAfterFcpMs: 0,
    pauseAfterLoadMs: 0,
    networkQuietThresholdMs: 0,
    cpuQuietThresholdMs: 0,
    disableFullPageScreenshot: true,
    ignoreStatusCode: true, // the page of a 404 is rated, too
  });
  const lost = [];
  const scores = {};
  for (const [name, category] of Object.entries(lhr.categories)) {
    scores[name] = category.score;
    for (const { id, weight } of category.auditRefs) {
      const audit = lhr.audits[id];
      if (weight > 0 && audit.score !== null && audit.score < 1)
        lost.push([id, JSON.stringify(audit.details?.items ?? audit.explanation).slice(0, 1000)]);
    }
  }
  console.log(JSON.stringify({ address, fault: lhr.runtimeError?.message, scores, lost }));
}
