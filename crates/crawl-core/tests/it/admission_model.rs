//! A model test: the admission decides like a naive implementation, in any order
//! of events.

use std::collections::{HashMap, HashSet};

use crawl_core::{Admission, Decision, Job, Options, Via};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use test_support::cases;
use url::Url;
use web::Address;

/// The URLs that one page leads to, and the way in which it does.
#[derive(Clone, Debug)]
struct Step {
    /// The index of the job, among those admitted so far, unless it is a root.
    from: usize,
    way: Way,
    urls: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Root,
    Link,
    Redirect,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let way = prop_oneof![1 => Just(Way::Root), 8 => Just(Way::Link), 2 => Just(Way::Redirect)];
    let host = prop_oneof![8 => Just("site.test"), 1 => Just("www.site.test"), 1 => Just("x.test")];
    let url = (host, "(/[abx]){0,3}/?", option::of("(s=1|a|&){1,3}"), option::of("[a-c]"));
    let url = url.prop_map(|(host, path, query, fragment)| {
        let query = query.map_or(String::new(), |query| format!("?{query}"));
        let fragment = fragment.map_or(String::new(), |fragment| format!("#{fragment}"));
        format!("http://{host}{path}{query}{fragment}")
    });
    let step = (any::<usize>(), way, vec(url, 0..6));
    vec(step.prop_map(|(from, way, urls)| Step { from, way, urls }), 0..40)
}

/// The naive implementation of the admission.
struct Naive {
    max_depth: u32,
    max_redirect: u32,
    depths: HashMap<String, Option<u32>>,
    /// The referrers of each URL, and whether they redirect to it.
    referrers: HashMap<String, Vec<(String, bool)>>,
    /// The refused URLs, of which only the first referrer is stored.
    refused: HashSet<String>,
}

#[derive(Debug, PartialEq)]
enum NaiveDecision {
    Admitted { url: String, depth: u32, redirects_left: u32 },
    Refused(String),
    TooDeep,
    Known,
    Repeated,
    Outside,
    ChainTooLong,
}

impl Naive {
    fn admit(&mut self, url: &Url, from: Option<&Job>, way: Way) -> NaiveDecision {
        if !["site.test", "www.site.test"].contains(&url.host_str().unwrap()) {
            return NaiveDecision::Outside;
        }
        let (depth, redirects_left) = match (from, way) {
            (Some(from), Way::Link) => (from.depth + 1, self.max_redirect),
            (Some(from), Way::Redirect) if from.redirects_left == 0 => {
                return NaiveDecision::ChainTooLong;
            }
            (Some(from), _) => (from.depth, from.redirects_left - 1),
            (None, _) => (0, self.max_redirect),
        };
        let query = url.query().map(|query| {
            let pairs: Vec<&str> =
                query.split('&').filter(|pair| pair.split('=').next() != Some("s")).collect();
            if pairs.len() == query.split('&').count() {
                format!("?{query}")
            } else if pairs.concat().is_empty() && pairs.len() < 2 {
                String::new()
            } else {
                format!("?{}", pairs.join("&"))
            }
        });
        let query = query.unwrap_or_default();
        let url = format!("http://{}{}{query}", url.host_str().unwrap(), url.path());
        let before = self.depths.get(&url).copied();
        if before.is_none() && is_filtered(&url, way) {
            return NaiveDecision::Outside;
        }
        let all = self.referrers.entry(url.clone()).or_default();
        let last = from.map(|from| from.url.to_string());
        let is_new_referrer = last.is_none() || all.last().map(|(url, _)| url) != last.as_ref();
        if let (true, Some(last)) = (is_new_referrer, last) {
            all.push((last, way == Way::Redirect));
        }
        if before.flatten().is_none() && depth <= self.max_depth {
            self.depths.insert(url.clone(), Some(depth));
            if ["a", "b", "x"].iter().any(|s| url.contains(&format!("/{s}/{s}/{s}"))) {
                self.refused.insert(url.clone());
                return NaiveDecision::Refused(url);
            }
            return NaiveDecision::Admitted { url, depth, redirects_left };
        }
        self.depths.entry(url).or_insert(None);
        match (before, is_new_referrer) {
            (None, _) => NaiveDecision::TooDeep,
            (_, true) => NaiveDecision::Known,
            (_, false) => NaiveDecision::Repeated,
        }
    }
}

fn is_filtered(url: &str, way: Way) -> bool {
    let is_included = url.contains("/a") || url.contains('?') || url.ends_with('/');
    url.contains("/b/x") || !(is_included || matches!(way, Way::Root))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(300)))]

    #[test]
    fn admission_decides_like_a_naive_model(
        steps in steps(),
        max_depth in 0..4_u32,
        max_redirect in 0..3_u32,
    ) {
        let mut options = Options::new(vec![Url::parse("http://site.test").unwrap()]);
        options.settings.max_depth = Some(max_depth);
        options.settings.max_redirect = max_redirect;
        options.settings.strip_query = vec!["s".into()];
        options.settings.include = ["/a", r"\?", "/$"].map(|text| text.parse().unwrap()).into();
        options.settings.exclude = vec!["/b/x".parse().unwrap()];
        let mut admission = Admission::new(&options);
        let mut naive = Naive {
            max_depth,
            max_redirect,
            depths: HashMap::new(),
            referrers: HashMap::new(),
            refused: HashSet::new(),
        };
        let mut jobs: Vec<Job> = Vec::new();
        let mut admitted = HashSet::new();
        for step in steps {
            let from = (!jobs.is_empty()).then(|| jobs[step.from % jobs.len().max(1)].clone());
            for url in &step.urls {
                let url = Url::parse(url).unwrap();
                let (from, via) = match (&from, step.way) {
                    (Some(from), Way::Link) => (Some(from), Via::Link(from)),
                    (Some(from), Way::Redirect) => (Some(from), Via::Redirect(from)),
                    _ => (None, Via::Root),
                };
                let way = if from.is_none() { Way::Root } else { step.way };
                let decision = match admission.admit(Address::of(&url).unwrap(), via) {
                    Decision::Admitted(job) => {
                        prop_assert!(admitted.insert(job.url.clone()), "twice: {}", job.url);
                        let (url, depth) = (job.url.to_string(), job.depth);
                        let redirects_left = job.redirects_left;
                        let decision = NaiveDecision::Admitted { url, depth, redirects_left };
                        jobs.push(job);
                        decision
                    }
                    Decision::Refused { url, .. } => NaiveDecision::Refused(url.to_string()),
                    Decision::TooDeep => NaiveDecision::TooDeep,
                    Decision::Known => NaiveDecision::Known,
                    Decision::Repeated => NaiveDecision::Repeated,
                    Decision::Outside | Decision::Unchecked => NaiveDecision::Outside,
                    Decision::ChainTooLong => NaiveDecision::ChainTooLong,
                };
                prop_assert_eq!(decision, naive.admit(&url, from, way), "{}", url);
            }
        }
        let too_deep = naive.depths.values().filter(|depth| depth.is_none()).count();
        prop_assert_eq!(admission.too_deep(), too_deep);
        prop_assert_eq!(admission.seen(), naive.depths.len() - too_deep);
        for (url, all) in &naive.referrers {
            let (first, count) = admission.referrers(url);
            prop_assert_eq!(count as usize, all.len());
            let is_stored = |n: usize, is_redirect: bool| match naive.refused.contains(url) {
                true => n == 0,
                // The links have no context here.
                false => n < Admission::MAX_REFERRERS || is_redirect,
            };
            let stored = all.iter().enumerate().filter(|(n, (_, is))| is_stored(*n, *is));
            let expected: Vec<&str> = stored.map(|(_, (url, _))| url.as_str()).collect();
            let first: Vec<&str> = first.iter().map(|referrer| referrer.url).collect();
            prop_assert_eq!(first, expected);
        }
        for job in &jobs {
            // An admitted URL is normalised: parsed again, it is known.
            let url = Url::parse(&job.url).unwrap();
            let again = admission.admit(Address::of(&url).unwrap(), Via::Root);
            prop_assert_eq!(again, Decision::Known);
        }
    }
}
