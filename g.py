import numpy as np, warnings, threading, pickle
from certivote import *
from certivote.voters import PredictionTable
from sklearn.ensemble import *
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.pipeline import make_pipeline
from sklearn.frozen import FrozenEstimator
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.calibration import CalibratedClassifierCV
from sklearn.multiclass import OneVsRestClassifier
import sys
X,y0=make_classification(1500,12,n_informative=6,n_classes=4,random_state=0,flip_y=.1)
Xb,yb0=make_classification(1500,12,n_informative=6,random_state=0,flip_y=.1)
labs={'int':np.array([0,1,2,3]),'odd':np.array([7,-3,100,2]),'str':np.array(['zeta','b','aa','c']),'obj':np.array(['zeta','b','aa','c'],dtype=object),'float':np.array([3.,1.,2.,-5.]),'one-based':np.array([1,2,3,4])}
def mk(y,X):
    A=slice(0,500)
    S=make_pipeline
    return {
    'rf':RandomForestClassifier(9),'bag pipe':BaggingClassifier(S(StandardScaler(),DecisionTreeClassifier(max_depth=4)),7,max_features=.6,max_samples=.1),
    'pipe bag pipe':S(StandardScaler(),BaggingClassifier(S(StandardScaler(),DecisionTreeClassifier(max_depth=4)),7,bootstrap_features=True)),
    'nested pipe':S(S(StandardScaler()),S(StandardScaler(),RandomForestClassifier(7))),
    'voting':VotingClassifier([('a',LogisticRegression()),('b',GaussianNB()),('c',DecisionTreeClassifier())]),
    'voting nested':VotingClassifier([('a',RandomForestClassifier(3)),('b',VotingClassifier([('q',GaussianNB())]))]),
    'stack':StackingClassifier([('a',LogisticRegression()),('b',GaussianNB())]),
    'ada':AdaBoostClassifier(DecisionTreeClassifier(max_depth=2),n_estimators=8),
    'ada rf':AdaBoostClassifier(RandomForestClassifier(3),n_estimators=3),
    'grid':GridSearchCV(S(StandardScaler(),RandomForestClassifier(5)),{'randomforestclassifier__max_depth':[2,3]}),
    'grid norefit':GridSearchCV(RandomForestClassifier(5),{'max_depth':[2,3]},refit=False),
    'list':[LogisticRegression(),GaussianNB(),S(StandardScaler(),DecisionTreeClassifier())],
    'list of rf':[RandomForestClassifier(3),ExtraTreesClassifier(3)],
    'frozen rf':FrozenEstimator(RandomForestClassifier(9).fit(X[A],y[A])),
    'frozen rf missing class':FrozenEstimator(RandomForestClassifier(9).fit(X[A][y[A]!=np.unique(y)[1]],y[A][y[A]!=np.unique(y)[1]])),
    'frozen list other classes':[FrozenEstimator(DecisionTreeClassifier(max_depth=4).fit(X[A][y[A]!=c],y[A][y[A]!=c])) for c in np.unique(y)],
    'voting of frozen':VotingClassifier([('a',FrozenEstimator(GaussianNB().fit(X[A],y[A]))),('b',DecisionTreeClassifier())]),
    'voting of pipe(scaler,frozen)':VotingClassifier([('a',S(StandardScaler(),FrozenEstimator(GaussianNB().fit(X[A],y[A])))),('b',DecisionTreeClassifier())]),
    'bagging of pipe(scaler,frozen)':BaggingClassifier(S(StandardScaler(),FrozenEstimator(GaussianNB().fit(X[A],y[A]))),3),
    'voting of grid(frozen)':VotingClassifier([('a',GridSearchCV(FrozenEstimator(GaussianNB().fit(X[A],y[A])),{})),('b',DecisionTreeClassifier())]),
    'ovr':OneVsRestClassifier(LogisticRegression()),'cal':CalibratedClassifierCV(GaussianNB()),'stumps':'stumps','hgb':HistGradientBoostingClassifier(max_iter=3),'gb':GradientBoostingClassifier(n_estimators=3),
    }
nck=0
for ln,l in labs.items():
    y=l[y0]
    for k,v in mk(y,X).items():
        with warnings.catch_warnings(record=True) as w:
            warnings.simplefilter('always')
            try:
                c=MajorityVoteClassifier(voters=v,random_state=0).fit(X[500:1000],y[500:1000])
                Xt,yt=X[1000:],y[1000:]
                pr=c.predict(Xt); votes=c.voters_.votes(Xt,c.classes_); from certivote.voters import codes_of
                W=(votes!=codes_of(yt,c.classes_)[:,None])@c.weights_
                err=pr!=yt
                if (W[err]<.5-1e-12).any(): print('!!! W',ln,k,W[err].min())
                # member accuracy sanity
                accs=1-(votes!=codes_of(yt,c.classes_)[:,None]).mean(0)
                if accs.min()<.3: print('  low acc member',ln,k,accs.round(2))
                c2=pickle.loads(pickle.dumps(c)); assert (c2.predict(Xt)==pr).all()
                c3=MajorityVoteClassifier(voters=v,random_state=0).fit(X[500:1000],y[500:1000])
                if not np.array_equal(c3.weights_,c.weights_): print('!!! nondeterministic',ln,k)
                nck+=1
            except Exception as e: print('EXC',ln,k,type(e).__name__,str(e)[:120])
        for m in {str(x.message)[:90] for x in w}: 
            if ln in('str',): print('  warn',ln,k,m)
print('checked',nck)
# random ties brute force with PredictionTable, many classes, unknown labels
rng=np.random.default_rng(0)
for trial in range(150):
    m,n,kc=60,int(rng.integers(1,6)),int(rng.integers(2,5))
    y=rng.integers(kc,size=m); T=np.where(rng.random((m,n))<.4,rng.integers(-1,kc+1,size=(m,n)),y[:,None])
    c=MajorityVoteClassifier(voters=PredictionTable(),bound='tandem',random_state=0).fit(T,y)
    if trial%2: c.weights_=np.full(n,1/n)
    W=(T!=y[:,None])@c.weights_; e=c.predict(T)!=y
    if (W[e]<.5-1e-12).any(): print('!!! ties',trial,W[e].min())
for cls in (CBBoostClassifier,MinCqClassifier,CqBoostClassifier):
    for ln in ('int','odd','str','obj'):
        y=labs[ln][:2][yb0]
        for vn,v in {'trees':None,'stumps':'stumps','bagp':BaggingClassifier(make_pipeline(StandardScaler(),DecisionTreeClassifier(max_depth=2)),5),'rf':RandomForestClassifier(4),'const':[DecisionTreeClassifier(max_depth=1)]}.items():
            try:
                c=cls(voters=v,random_state=0,n_voters=12).fit(Xb[:600],y[:600]); 
                Xt,yt=Xb[600:],y[600:]
                votes=c.voters_.votes(Xt,c.classes_); co=codes_of(yt,c.classes_)
                W=np.hstack([votes!=co[:,None],votes==co[:,None]])@c.weights_; e=c.predict(Xt)!=yt
                if (W[e]<.5-1e-12).any(): print('!!! W bin',cls.__name__,ln,vn,W[e].min())
                if e.mean()>c.certificate_.risk_bound: print('!!! above cert')
                c.certify(Xt,yt).verify()
            except Exception as ex: print('EXC',cls.__name__,ln,vn,type(ex).__name__,str(ex)[:120])
print('done')
